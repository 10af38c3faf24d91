import { connect, connectionFromEnvironment, loadPipeline } from '../../../src/index.js';

const key = 'key-of-the-test';
const base = { baseUrl: 'http://127.0.0.1:9', auth: { rest_api_key: key } };

/** Calls as a program without types does. */
const called = <R>(what: (...given: never[]) => R, ...given: readonly unknown[]): R => Reflect.apply(what, undefined, given);
const untyped = (...given: readonly unknown[]) => called(connect, ...given);
const attempt = (options: object) => () => untyped({ ...base, ...options }).close();
const refused = (message: string | RegExp) =>
  expect.objectContaining({
    name: 'SourceError',
    code: 'E_SOURCE_CONFIG',
    message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  });

describe('connect refuses at once', () => {
  const names = ['rest_api_key', 'authorized_uid, authorized_rest_api_key', 'bearer', 'header_name, header_value'];
  const forms = `auth must be ${names.map((each) => `{ ${each} }`).join(' or ')}, all texts`;

  test.each<[object, string]>([
    [{ limit: 0, window: 0 }, 'limit must be a whole number from 1 to 500; window must be a whole number from 1 to 1024'],
    [{ limt: 5 }, "unknown option 'limt'"],
    [{ auth: { bearer: key, rest_api_key: key } }, forms],
    [{ auth: { [key]: '' } }, forms],
    [{ auth: { authorized_uid: '', authorized_rest_api_key: key } }, 'auth: authorized_uid must not be empty'],
  ])('%j', (options, message) => {
    expect(attempt(options)).toThrow(refused(message));
    expect(attempt(options)).not.toThrow(key);
  });

  test('what are no options, without telling them', () => {
    const given = `http://127.0.0.1:9?rest_api_key=${key}`;
    expect(() => untyped(given)).toThrow(refused(/^the options of a connection, like \{ baseUrl, auth \}, must be an object$/));
  });
});

const { bridges, collection } = connect(base);

test.each<[string, () => unknown, string]>([
  ['what every object has', () => called(collection, 'toString'), "unknown collection 'toString'"],
  ['reveal of a misspelled field', () => bridges.with({ reveal: ['crm_kye' as never] }), "unknown field 'crm_kye'"],
  ['a secret field', () => bridges.with({ fields: ['id', 'crm_key' as never] }), "'crm_key' is secret"],
])('a service refuses at the call %s', (_what, call, message) => {
  expect(call).toThrow(refused(message));
});

describe('the environment', () => {
  const both = { LEADSTREAM_BASE_URL: base.baseUrl, LEADSTREAM_REST_API_KEY: key, LEADSTREAM_AUTHORIZED_UID: '7' };

  test('is refused when it names two accounts, as a file is', async () => {
    const message = 'LEADSTREAM_REST_API_KEY and LEADSTREAM_AUTHORIZED_UID cannot be used together: unset one of them';
    expect(() => connectionFromEnvironment(both)).toThrow(refused(message));
    expect(() => connectionFromEnvironment({ ...both, LEADSTREAM_AUTHORIZED_REST_API_KEY: key })).toThrow(refused(message));
    const file = 'name: bare\nfrom: users\nto: [{ stdout: {} }]';
    await expect(loadPipeline({ text: file, file: 'p' }, { env: both })).rejects.toThrow(
      expect.objectContaining({ name: 'SpecError', message: expect.stringContaining(message) }),
    );
  });

  test('may have empty variables, which count as not set', () => {
    expect(connectionFromEnvironment({ ...both, LEADSTREAM_AUTHORIZED_UID: '' })).toEqual({ ...base, proxy: false });
  });
});
