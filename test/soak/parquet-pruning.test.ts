/** Everything that readers prune by, by every engine with every codec. */
import '../system/parquet/pruning.test.js';
