/** What system takes a sample of: tables, the store and reading. */
import '../system/lake/verify.test.js';
import '../system/store/redo-log.test.js';
import '../system/collections/sequential.test.js';
import '../system/http/failures.test.js';
import '../system/source/end.test.js';
import '../system/lake/before.test.js';
import '../system/lake/modes.test.js';
