/** Columns against rows, with many draws and every codec. */
import '../system/parquet/columns.test.js';
