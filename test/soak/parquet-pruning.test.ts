/** Everything that readers prune by, by every engine with every codec. */
import '../system/sinks/parquet-pruning.test.js';
