/** Runs killed at many moments. */
import '../system/killed.test.js';
