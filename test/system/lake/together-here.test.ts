import { describe } from '@jest/globals';
import { togetherHereTests, togetherTests } from '../../contracts/together.js';

describe('tables of this machine that are published together', () => {
  togetherTests('this machine');
  togetherHereTests();
});
