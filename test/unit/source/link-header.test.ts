import * as fc from 'fast-check';
import { nextLinkIn } from '../../../src/source/fetch/request.js';

test.each([
  // As GitHub documents it.
  [
    '<https://api.github.com/repositories/1300192/issues?page=2>; rel="prev", <https://api.github.com/repositories/1300192/issues?page=4>; rel="next"',
    'https://api.github.com/repositories/1300192/issues?page=4',
  ],
  // As RFC 8288 has it.
  ['<http://example.com/TheBook/chapter2>; rel="previous"; title="previous chapter"', undefined],
  [
    '</TheBook/chapter2>; rel="previous"; title*=UTF-8\'de\'letztes%20Kapitel, </TheBook/chapter4>; rel="next"; title*=UTF-8\'de\'n%c3%a4chstes%20Kapitel',
    '/TheBook/chapter4',
  ],
  ['<http://example.org/>; rel="start http://example.net/relation/other"', undefined],
  ['<?page=2>;rel=next', '?page=2'],
  ["<?page=2>; rel='next'", '?page=2'],
  ['<a>; title="x, <b>; rel=next"; rel=last', undefined],
  ['<a>; title="q\\"; rel=next", <b>; rel="next"', 'b'],
  ['<a>; rel=prev; rel=next, <b>; rel=next', 'b'],
  ['<a>; rel=next; anchor="/other", <b>; rel=next', 'b'],
  ['<a,b;c>; rel=next', 'a,b;c'],
  ['<a>; crossorigin; x=; rel = next ; y', 'a'],
  [' , ,<a>; rel=prev,, <b>;; rel="up  NEXT" ,', 'b'],
  ['<a>; title=a"b; rel=next', 'a'],
  ['<a>; rel="prev" <b>; rel=next', 'b'],
  ['<a>; title=x, <b>; rel=next', 'b'],
  ['<b>; rel=next, <a>; rel="pre', 'b'],
  ['<?q=caf\xe9&all>; rel=next', '?q=caf%e9&all'],
  ['', undefined],
])('%s', (header, next) => {
  expect(nextLinkIn(header, 'page 1')).toBe(next);
});

test.each([
  'a>; rel=next',
  '; rel=next',
  '<a>; rel="prev"x, <b>; rel=next',
  '<a>; rel=prev, b; rel=next',
  '<a; rel=next',
  '<a>; rel="next',
  '<a>; rel="next\\',
  '<a>; title="x, <b>; rel=next',
  '<a>, <b>; rel=prev',
  '<a>; rel=""',
  '<a>; anchor="/x", <b>; rel',
])('%s cannot be read', (header) => {
  const refused = { code: 'E_SOURCE_LINK', kind: 'suspect', message: 'page 1: the Link header cannot be read, or a link in it has no rel' };
  expect(() => nextLinkIn(header, 'page 1')).toThrow(expect.objectContaining(refused));
});

test('reads a header of any length, which a search that begins anew at each place would never end', () => {
  for (const part of ['<a>; ', '<a>;rel="', '<a>; x = ', '<a>;;', '<', ', ', '\\'])
    for (const header of [part.repeat(400_000), `<a>; rel="${part.repeat(400_000)}`])
      expect(() => nextLinkIn(header, 'page 1')).not.toThrow(RangeError);
});

test('takes the first link of that relation among any others', () => {
  const target = fc.webUrl({ withQueryParameters: true }).map((url) => url.replaceAll('>', ''));
  const link = fc.record({
    target,
    rel: fc.constantFrom('next', 'prev', 'first', 'last', 'up next'),
    title: fc.string().map((text) => JSON.stringify(text.replaceAll(/[^ -~]/g, ''))),
  });
  fc.assert(
    fc.property(fc.array(link), (links) => {
      const header = links.map(({ target: to, rel, title }) => `<${to}>; title=${title}; rel="${rel}"`).join(', ');
      expect(nextLinkIn(header, 'page 1')).toBe(links.find(({ rel }) => rel.includes('next'))?.target);
    }),
  );
});
