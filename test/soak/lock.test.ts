/** Many races for a lock. */
import '../system/files/lock.test.js';
