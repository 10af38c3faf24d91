/** Reads of other services that are killed at many moments. */
import '../system/collections/killed.test.js';
