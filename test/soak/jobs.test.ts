/** All the jobs. */
import '../system/jobs.test.js';
