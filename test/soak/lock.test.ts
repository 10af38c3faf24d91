/** Many races for a lock. */
import '../system/store/lock.test.js';
