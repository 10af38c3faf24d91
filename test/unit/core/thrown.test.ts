import { expect, test } from '@jest/globals';
import { whatWasThrown } from '../../../src/core/index.js';

test('what was thrown is told by its class and place, never by its message, which may hold data', () => {
  const thrown = new RangeError('jane@example.com\n    at steal (/home/jane@example.com:1:1)');
  expect(whatWasThrown(thrown)).toMatch(/^RangeError \(at \/.*thrown\.test\.ts:\d+:\d+\)$/);
});

test.each([
  [Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED', stack: '' }), 'Error ECONNREFUSED'],
  [Object.assign(new Error('x'), { code: 'jane@example.com', stack: '' }), 'Error'],
  [Object.assign(new Error(''), { name: 'jane doe', stack: '' }), 'Error'],
  ['jane@example.com', 'a value of type string'],
  [null, 'null'],
  [undefined, 'a value of type undefined'],
])('of %p only its class, its code or its type is told', (thrown, told) => {
  expect(whatWasThrown(thrown)).toBe(told);
});
