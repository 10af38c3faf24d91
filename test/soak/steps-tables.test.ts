/** Every step over tables against rows, with many draws. */
import '../unit/steps/tables.test.js';
