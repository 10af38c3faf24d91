import { expect, test } from '@jest/globals';
import { nearest } from '../../../src/core/index.js';

test.each<[string, readonly string[], string | undefined]>([
  ['zip', ['uid', 'zipcode', 'my_zip'], 'zipcode'],
  ['status', ['source', 'lead_status'], 'lead_status'],
  ['ZIP', ['uid', 'zipcode'], 'zipcode'],
  ['lead', ['links', 'lead_accepted', 'leads'], 'leads'],
  ['zipcod', ['uid', 'zipcode'], 'zipcode'],
  ['siez', ['size', 'string'], 'size'],
  ['emial', ['email'], 'email'],
  ['Email', ['email'], 'email'],
  ['math', ['meta'], undefined],
  ['now', ['num', 'dyn'], undefined],
  ['len', ['dyn'], undefined],
  ['id', ['bridge_id', 'uid'], 'uid'],
  ['x', ['exists'], undefined],
  ['uidd', ['id', 'uid', 'aid'], 'uid'],
  ['first_page', ['limit', 'firstPage'], 'firstPage'],
  ['', ['email'], undefined],
  ['email', [], undefined],
])('the name nearest to %j among %j is %j', (name, known, near) => {
  expect(nearest(name, known)).toBe(near);
});
