import { expect, test } from '@jest/globals';
import { proxyFor, proxyIn } from '../../../src/http/proxy.js';

const proxy = 'http://proxy.example:3128';

test.each<[string, Readonly<Record<string, string>>, string | undefined]>([
  ['https://data.example', {}, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy }, proxy],
  ['https://data.example', { https_proxy: proxy, HTTPS_PROXY: 'http://other.example' }, proxy],
  ['https://data.example', { HTTPS_PROXY: 'proxy.example:3128' }, proxy],
  ['http://data.example', { HTTP_PROXY: proxy }, proxy],
  ['http://data.example', { HTTPS_PROXY: proxy }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: '*' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: 'localhost, DATA.example' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, no_proxy: '.example' }, undefined],
  ['https://bigdata.example', { HTTPS_PROXY: proxy, NO_PROXY: 'data.example' }, proxy],
  ['https://data.example:8443', { HTTPS_PROXY: proxy, NO_PROXY: 'data.example:8443' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: 'data.example:8443' }, proxy],
  ['http://[::1]:8080', { HTTP_PROXY: proxy, NO_PROXY: '::1' }, undefined],
  ['http://[::1]:8080', { HTTP_PROXY: proxy, NO_PROXY: '[::1]:80' }, proxy],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: ' , ' }, proxy],
])('the way to %s with %j', (baseUrl, env, expected) => {
  expect(proxyIn(baseUrl, env)).toEqual({ proxy: expected, problem: undefined });
});

test.each([
  ['HTTPS_PROXY', 'socks5://reader:secret-word@proxy.example:1080'],
  ['https_proxy', 'reader:secret-word@proxy.example:port'],
  ['HTTPS_PROXY', 'http://proxy.example/secret-word'],
])('an environment is told that its %s cannot be, without what it is: %s', (name, given) => {
  const { problem } = proxyIn('https://data.example', { [name]: given });
  expect(problem).toBe(
    `the environment variable ${name} must be the address of an HTTP proxy, like http://proxy.example:3128, with % in its user and password written as %25`,
  );
  expect(proxyIn('https://data.example', { [name]: given, NO_PROXY: '*' })).toEqual({ proxy: undefined, problem: undefined });
});

test('what a program asks for comes before the environment', () => {
  const before = process.env;
  try {
    process.env = { ...before, HTTPS_PROXY: 'socks5://proxy.example' };
    expect(proxyFor('https://data.example', false)).toBeUndefined();
    expect(proxyFor('https://data.example', proxy)).toBe(proxy);
    const refused = expect.objectContaining({
      code: 'E_SOURCE_CONFIG',
      message: expect.stringContaining('the environment variable HTTPS_PROXY'),
    });
    expect(() => proxyFor('https://data.example', undefined)).toThrow(refused);
  } finally {
    process.env = before;
  }
});
