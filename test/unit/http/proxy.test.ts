import { proxyFor, proxyIn } from '../../../src/http/proxy.js';

const proxy = 'http://proxy.example:3128';

test.each<[string, Readonly<Record<string, string>>, string | undefined]>([
  ['https://data.example', {}, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy }, proxy],
  ['https://data.example', { https_proxy: proxy, HTTPS_PROXY: 'http://other.example' }, proxy],
  ['http://data.example', { HTTPS_PROXY: proxy }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: '*' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: 'localhost, DATA.example' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, no_proxy: '.example' }, undefined],
  ['https://bigdata.example', { HTTPS_PROXY: proxy, NO_PROXY: 'data.example' }, proxy],
  ['https://data.example:8443', { HTTPS_PROXY: proxy, NO_PROXY: 'data.example:8443' }, undefined],
  ['https://data.example', { HTTPS_PROXY: proxy, NO_PROXY: 'data.example:8443' }, proxy],
  ['http://[::1]:8080', { HTTP_PROXY: proxy, NO_PROXY: '[::1]:80' }, proxy],
  ['https://a.data.example', { HTTPS_PROXY: proxy, NO_PROXY: '*.data.example:443' }, undefined],
  ['https://data.example.', { HTTPS_PROXY: proxy, NO_PROXY: 'Data.example.' }, undefined],
  ['https://bücher.example', { HTTPS_PROXY: proxy, NO_PROXY: '.bücher.example' }, undefined],
  ['http://127.0.0.1:8080', { HTTP_PROXY: proxy, NO_PROXY: 'localhost,127.0.0.0/8' }, undefined],
  ['http://127.1:8080', { HTTP_PROXY: proxy, NO_PROXY: '127.9.9.9/8:8080' }, undefined],
  ['http://127.0.0.1:8080', { HTTP_PROXY: proxy, NO_PROXY: '127.0.0.0/8:80,10.0.0.0/8,127.0.0.2,fd00::/8' }, proxy],
  ['http://localhost', { HTTP_PROXY: proxy, NO_PROXY: '127.0.0.0/8' }, proxy],
  ['http://10.0.0.1', { HTTP_PROXY: proxy, NO_PROXY: '0.0.0.0/0' }, undefined],
  ['http://[fd12::1]:8080', { HTTP_PROXY: proxy, NO_PROXY: '[fd00::/8]:8080' }, undefined],
  ['http://[::ffff:10.0.0.1]', { HTTP_PROXY: proxy, NO_PROXY: '10.0.0.0/8' }, undefined],
])('the way to %s with %j', (baseUrl, env, expected) => {
  expect(proxyIn(baseUrl, env)).toEqual({ proxy: expected });
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
  expect(proxyIn('https://data.example', { [name]: given, NO_PROXY: '*' })).toEqual({});
});

test.each([
  ...['10.*', '10.', '10.0', '10.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.1-10.0.0.9', 'fd00::/129', 'data.example/8'],
  ...['*data.example', 'data.*', '<local>', 'http://data.example', 'data.example:http', 'x;data.example', '.', '[::1'],
])('an entry of NO_PROXY that is not understood is a warning, where the proxy is taken: %s', (entry) => {
  const env = { HTTP_PROXY: proxy, NO_PROXY: `localhost,${entry}` };
  const message = `NO_PROXY has invalid entries (${entry}), so requests to 10.0.0.1 use the proxy`;
  const warning = { code: 'W_SOURCE_PROXY', message };
  expect(proxyIn('http://10.0.0.1', env)).toEqual({ proxy, warning });
  expect(proxyIn('http://localhost', env)).toEqual({});
  expect(proxyIn('https://10.0.0.1', env)).toEqual({});
});

test('what may be a password in NO_PROXY is not shown', () => {
  const { warning } = proxyIn('http://10.0.0.1', { HTTP_PROXY: proxy, NO_PROXY: 'http://me:secret-word@x' });
  expect(warning?.message).toContain('(…@…)');
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
