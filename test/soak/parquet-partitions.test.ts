/** Partitions of many drawn values. */
import '../system/lake/partitions.test.js';
