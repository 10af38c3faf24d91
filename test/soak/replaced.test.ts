/** Many replaces that are read and publications that are killed. */
import '../system/replaced.test.js';
