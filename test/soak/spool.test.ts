/** A spool whose run is killed many times. */
import '../system/source/spool.test.js';
