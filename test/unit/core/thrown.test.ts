import { expect, test } from '@jest/globals';
import { whatWasThrown } from '../../../src/core/index.js';

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was thrown');
}

test('names the class and the place, and never the message, which may hold data', () => {
  const said = whatWasThrown(thrownBy(() => BigInt('Jane Doe')));
  expect(said).toMatch(/^SyntaxError \(at \/.*thrown\.test\.ts:\d+:\d+\)$/);
  expect(said).not.toContain('Jane');
});

test('takes no line of the message for a place', () => {
  const said = whatWasThrown(new Error('jane@example.com\n    at steal (/home/jane@example.com:1:1)'));
  expect(said).toMatch(/^Error \(at \/.*thrown\.test\.ts:\d+:\d+\)$/);
});

test('names the code that systems and databases give', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED', stack: 'Error' });
  expect(whatWasThrown(refused)).toBe('Error ECONNREFUSED');
  expect(whatWasThrown(Object.assign(new Error('x'), { code: 'jane@example.com', stack: '' }))).toBe('Error');
});

test.each([
  ['jane@example.com', 'a value of type string'],
  [null, 'null'],
  [undefined, 'a value of type undefined'],
  [Object.assign(new Error(''), { name: 'jane doe', stack: '' }), 'Error'],
])('tells nothing of %s but its type', (thrown, said) => {
  expect(whatWasThrown(thrown)).toBe(said);
});
