/** Columns against rows, with many draws and every codec. */
import '../system/sinks/parquet-columns.test.js';
