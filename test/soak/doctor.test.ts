/** Doctor and a run by its block, on all combinations of quirks. */
import '../system/cli/doctor-quirks.test.js';
