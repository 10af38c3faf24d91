import { expect, test } from '@jest/globals';
import { nearest } from '../../../src/core/index.js';

const known = ['lead_id', 'email', 'zipcode', 'state'];

test.each([
  ['emial', 'email'],
  ['lead_di', 'lead_id'],
  ['LEAD_ID', 'lead_id'],
  ['zip_code', 'zipcode'],
  ['stat', 'state'],
])('finds what %s was meant to be: %s', (name, meant) => {
  expect(nearest(name, known)).toBe(meant);
});

test.each(['phone', 'x', '', 'campaign_name'])('suggests nothing for %j, which is like none', (name) => {
  expect(nearest(name, known)).toBeUndefined();
});

test('takes the nearest of several', () => {
  expect(nearest('uidd', ['id', 'uid', 'aid'])).toBe('uid');
});

test('suggests nothing where nothing is known', () => {
  expect(nearest('email', [])).toBeUndefined();
});
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
])('the name nearest to %j among %j is %j', (name, known, near) => {
  expect(nearest(name, known)).toBe(near);
});
