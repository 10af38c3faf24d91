import { expect, test } from '@jest/globals';
import { GateError, SpecError } from '../../../src/core/errors.js';
import { jsonOf, printable, createRedactor } from '../../../src/core/text.js';

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

test('a redactor finds a secret that was made printable', () => {
  expect(createRedactor(['a\u009bkey-of-its-own'])(`x ${printable('a\u009bkey-of-its-own')}`)).toBe('x [redacted]');
});
