import { createRedactor } from '../../../src/core/index.js';
import {
  accountMark,
  accountOf,
  credentialForms,
  credentialsProblem,
  secretKeyOf,
  privacyAt,
  type Credentials,
} from '../../../src/http/credentials.js';

const key = 'key-of-the-test';
const withKey = (credentials: Credentials, other: string): Credentials => ({ ...credentials, [secretKeyOf(credentials).field]: other });

/** Credentials of every form, the user with what may stand in any text. */
const samples = {
  rest_api_key: { rest_api_key: key },
  authorized_uid: { authorized_uid: '7', authorized_rest_api_key: key },
  bearer: { bearer: key },
  header_name: { header_name: 'X-Key', header_value: key },
};

describe.each(Object.entries(samples))('%s', (_name, credentials) => {
  test('puts nothing on the wire that is not redacted, but for what is withheld by its place', () => {
    const wire = accountOf(credentials);
    expect(Object.keys(wire).length).toBeGreaterThan(0);
    const redact = createRedactor([secretKeyOf(credentials).value]);
    for (const [name, value] of Object.entries(wire))
      if (privacyAt([name]) !== 'withheld') expect(redact(value)).toMatch(/^(?:\w+ )?\[redacted\]$/);
  });

  test('is told apart from the same with another key, of which nothing else differs', () => {
    const other = withKey(credentials, 'another-key');
    expect(accountOf(other)).not.toEqual(accountOf(credentials));
    expect(withKey(other, key)).toEqual(credentials);
    expect(credentialsProblem(other)).toBeUndefined();
  });
});

test('the mark of an account stays when a user gets another key, and is too short to confirm a key by', () => {
  const marks = Object.values(samples).map(accountMark);
  const others = Object.values(samples).map((credentials) => accountMark(withKey(credentials, 'another-key')));
  expect(marks.map((mark, index) => [mark.length, mark === others[index]])).toEqual([
    [4, false],
    [16, true],
    [4, false],
    [4, false],
  ]);
  expect(accountMark({ ...samples.authorized_uid, authorized_uid: '8' })).not.toBe(marks[1]);
});

test('what tells accounts apart stays as it is: spools and counts of earlier runs are named after it', () => {
  expect(Object.values(samples).map(accountOf)).toEqual([
    { rest_api_key: key },
    { authorized_uid: '7', authorized_rest_api_key: key },
    { authorization: `Bearer ${key}` },
    { 'x-key': key },
  ]);
});

test('every form has a sample here, and no field of another form', () => {
  expect(Object.keys(samples)).toEqual(credentialForms.map(({ fields }) => Object.keys(fields)[0]));
  const names = credentialForms.flatMap(({ fields }) => Object.keys(fields));
  expect(new Set(names).size).toBe(names.length);
});

test.each([
  [['rest_api_key'], 'secret'],
  [['authorized_uid'], 'withheld'],
  [['header_value'], 'secret'],
  [['header_name'], 'plain'],
  [['header', 'value'], 'secret'],
  [['rest_api_kye'], 'secret'],
  [[], 'secret'],
])('what is at %j below auth is %s', (path, privacy) => {
  expect(privacyAt(path)).toBe(privacy);
});
