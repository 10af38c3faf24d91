/** Nasty values by every engine with every codec. */
import '../system/sinks/parquet-nasty.test.js';
