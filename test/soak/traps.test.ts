/** Every list that lies. */
import '../system/source/traps.test.js';
