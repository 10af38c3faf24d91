/** Nasty values by every engine with every codec. */
import '../system/parquet/nasty.test.js';
