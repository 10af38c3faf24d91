/** Many seeds of a list that changes while it is read. */
import '../system/pipeline/drift.test.js';
