/** Doctor and a run by its block, on all combinations of quirks; services that bear a few requests at once; all ways to page a collection of one's own. */
import '../system/cli/doctor-quirks.test.js';
import '../system/doctor/concurrency.test.js';
import '../system/doctor/own.test.js';
