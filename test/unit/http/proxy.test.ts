import { expect, test } from '@jest/globals';
import { proxyFor, proxyProblem } from '../../../src/http/proxy.js';

const proxy = 'http://proxy.example:3128';

test.each<[string, Readonly<Record<string, string>>, string | undefined]>([
  ['https://data.example', {}, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy }, proxy],
  ['https://data.example', { https_proxy: proxy, HTTPS_PROXY: 'http://other.example' }, proxy],
  ['https://data.example', { HTTPS_PROXY: 'proxy.example:3128' }, proxy],
  ['https://data.example', { HTTP_PROXY: proxy }, undefined],
  ['https://data.example', { HTTPS_PROXY: '' }, undefined],
  ['http://data.example', { HTTP_PROXY: proxy }, proxy],
  ['http://data.example', { HTTPS_PROXY: proxy }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: '*' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: 'localhost, DATA.example' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, no_proxy: '.example' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: '*.example' }, undefined],
  ['https://bigdata.example', { HTTPS_PROXY: proxy, NO_PROXY: 'data.example' }, proxy],
  ['https://data.example:8443', { HTTPS_PROXY: proxy, NO_PROXY: 'data.example:8443' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: 'data.example:8443' }, proxy],
  ['http://[::1]:8080', { HTTP_PROXY: proxy, NO_PROXY: '::1' }, undefined],
  ['http://[::1]:8080', { HTTP_PROXY: proxy, NO_PROXY: '[::1]:8080' }, undefined],
  ['http://[::1]:8080', { HTTP_PROXY: proxy, NO_PROXY: '[::1]:80' }, proxy],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: ' , ' }, proxy],
])('the way to %s with %j', (baseUrl, env, expected) => {
  expect(proxyFor(baseUrl, undefined, env)).toBe(expected);
});

test('what a program asks for comes before the environment', () => {
  expect(proxyFor('https://data.example', false, { HTTPS_PROXY: proxy })).toBeUndefined();
  expect(proxyFor('https://data.example', proxy, { NO_PROXY: '*' })).toBe(proxy);
});

test.each([proxy, 'https://user:password@proxy.example', 'http://proxy.example/', false])('%p can be a proxy', (given) => {
  expect(proxyProblem(given)).toBeUndefined();
});

test.each(['proxy.example:3128', 'socks5://proxy.example', 'http://proxy.example/path', '', 5, true, null])('%p cannot', (given) => {
  expect(proxyProblem(given)).toMatch(/^must be the address of an HTTP proxy/);
});
