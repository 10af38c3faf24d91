/** Texts of tables against those of rows, with many draws. */
import '../unit/sinks/text-vectors.test.js';
