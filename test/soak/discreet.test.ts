/** No fault tells the key of a run. */
import '../system/pipeline/discreet.test.js';
