import { GateError, SpecError } from '../../../src/core/errors.js';
import { jsonOf, printable, createRedactor } from '../../../src/core/text.js';
import { oddKey } from '../../support/odd-server.js';
import { whatWasThrown } from '../../../src/core/index.js';

test.each([
  ['an escape sequence', '\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
  ['a C1 control, which some terminals take for one', '\u009b2J', '\\u009b2J'],
  ['line ends', 'a\nb\r\nc', 'a\\nb\\r\\nc'],
  ['other ends of lines', 'a\u0085b\u2028c\u2029d\u000be\u000c', 'a\\u0085b\\u2028c\\u2029d\\u000be\\f'],
  ['turned directions of writing', 'a\u202egpj.exe\u2066\u200f', 'a\\u202egpj.exe\\u2066\\u200f'],
  ['nothing of a text of any language', 'Größe 数量 عدد 👩‍👧 a\u0301', 'Größe 数量 عدد 👩‍👧 a\u0301'],
])('printable shows %s', (_what, text, shown) => {
  expect(printable(text)).toBe(shown);
});

test('jsonOf stays JSON whatever is redacted, in names and values', () => {
  const redact = createRedactor(['":["', '{"', 'secret"\u009b']);
  const text = jsonOf({ a: ['b'], 'secret"\u009b': { 'my secret"\u009b': 'secret"\u009b!' } }, { redact });
  expect(JSON.parse(text)).toEqual({ a: ['b'], '[redacted]': { 'my [redacted]': '[redacted]!' } });
});

test('an error has one line for each of several messages', () => {
  const error = new SpecError('E_SPEC_INVALID', 'a\nb.yaml', [
    { message: "unknown key '\u001b'", line: 1, column: 2 },
    { message: 'b\nforged.yaml:1:1 c', line: 3, column: 4 },
  ]);
  expect(error.message).toBe("a\\nb.yaml:1:2 unknown key '\\u001b'\na\\nb.yaml:3:4 b\\nforged.yaml:1:1 c");
  expect(error.lines).toHaveLength(2);
  const refusals = [
    { code: 'E_GATE_EXPECT', message: 'x\ny' },
    { code: 'E_GATE_EXPECT', message: 'z' },
  ] as const;
  expect(GateError.of(refusals)?.lines).toEqual(['x\\ny', 'z']);
});

test.each<[string, readonly string[], text: string, shown: string]>([
  ['a plain secret, everywhere', [oddKey], `a=${oddKey}&b=${oddKey};`, 'a=[redacted]&b=[redacted];'],
  ['a URI-encoded one', [oddKey], `a=${encodeURIComponent(oddKey)};`, 'a=[redacted];'],
  ['a form-encoded one', [oddKey], `a=${new URLSearchParams({ k: oddKey }).toString().slice(2)};`, 'a=[redacted];'],
  ['a JSON-encoded one', [oddKey], `a=${JSON.stringify(oddKey).slice(1, -1)};`, 'a=[redacted];'],
  ['one that was made printable', ['a\u009bkey-of-its-own'], `x ${printable('a\u009bkey-of-its-own')}`, 'x [redacted]'],
  ['every secret', [oddKey, 'plain-key'], `${oddKey} plain-key other`, '[redacted] [redacted] other'],
  ['the longer of two of which one begins the other', ['some-key', 'some-key-long'], 'some-key-long some-key', '[redacted] [redacted]'],
  ['text and no pattern', ['some.key', '$&$&$&$&'], 'some-key some.key $&$&$&$&', 'some-key [redacted] [redacted]'],
  ['nothing in a text without secrets', [oddKey], '/api/leads: HTTP 500', '/api/leads: HTTP 500'],
  ['nothing that is too short to be a secret', ['', 'e', 'leads', 'seven_7'], 'leads: seven_7 of eleven', 'leads: seven_7 of eleven'],
])('a redactor replaces %s', (_what, secrets, text, shown) => {
  expect(createRedactor(secrets)(text)).toBe(shown);
});

test('what was thrown is told by its class and place, never by its message, which may hold data', () => {
  const thrown = new RangeError('jane@example.com\n    at steal (/home/jane@example.com:1:1)');
  expect(whatWasThrown(thrown)).toMatch(/^RangeError \(at \/.*text\.test\.ts:\d+:\d+\)$/);
});

test.each([
  [Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED', stack: '' }), 'Error ECONNREFUSED'],
  [Object.assign(new Error('x'), { code: 'jane@example.com', stack: '' }), 'Error'],
  [Object.assign(new Error(''), { name: 'jane doe', stack: '' }), 'Error'],
  ['jane@example.com', 'a value of type string'],
  [null, 'null'],
  [undefined, 'a value of type undefined'],
])('of %p only its class, its code or its type is told', (thrown, told) => {
  expect(whatWasThrown(thrown)).toBe(told);
});
