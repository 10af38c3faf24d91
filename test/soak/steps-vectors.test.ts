/** Every step over tables against rows, with many draws. */
import '../unit/steps/vectors.test.js';
