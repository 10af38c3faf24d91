/** Reads cancelled in every way, some three hundred times. */
import '../system/source/closing.test.js';
