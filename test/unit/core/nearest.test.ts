import { expect, test } from '@jest/globals';
import { nearest } from '../../../src/core/index.js';

test.each<[string, readonly string[], string | undefined]>([
  ['zip', ['uid', 'zipcode', 'my_zip'], 'zipcode'],
  ['ZIP', ['uid', 'zipcode'], 'zipcode'],
  ['siez', ['size', 'string'], 'size'],
  ['emial', ['email'], 'email'],
  ['now', ['num', 'dyn'], undefined],
  ['x', ['exists'], undefined],
  ['uidd', ['id', 'uid', 'aid'], 'uid'],
  ['first_page', ['limit', 'firstPage'], 'firstPage'],
  ['', ['email'], undefined],
  ['email', [], undefined],
])('the name nearest to %j among %j is %j', (name, known, near) => {
  expect(nearest(name, known)).toBe(near);
});
