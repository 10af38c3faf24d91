/** Partitions of many drawn values. */
import '../system/sinks/parquet-partitions.test.js';
