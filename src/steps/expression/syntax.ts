import type { Column } from '../../core/index.js';

/**
 * Explains a syntax error in terms of the author's language: SQL, a spreadsheet or another one.
 *
 * @param source The expression.
 * @param at Where parsing stopped: the offset of the unexpected character.
 * @param message The parser's message.
 */
export function syntaxProblem(
  source: string,
  at: number,
  message: string,
  columns: readonly Column[],
): { readonly message: string; readonly at: number } {
  const bare = withoutTexts(source);
  const spaced = columns.map(({ name, original }) => ({ name, original, at: bare.toLowerCase().indexOf(original.toLowerCase()) }));
  const named = spaced.find((column) => column.at >= 0 && !/^\w+$/.test(column.original));
  if (named) return { message: `the field '${named.original}' is called ${named.name} here`, at: named.at };
  const written = misspelled(source, bare, at, columns);
  if (written) return written;
  const [before = ''] = /\w+(?=\s*$)/.exec(bare.slice(0, at)) ?? [];
  const [word = ''] = /^\w+/.exec(bare.slice(at)) ?? [];
  const place = wordAt(word) === undefined ? bare.lastIndexOf(before, at - 1) : at;
  const [, field = 'email', not] = /(\w+)\s+is\s+(not\s+)?null\b/i.exec(bare) ?? [];
  if (/^is\s+(?:not\s+)?null\b/i.test(bare.slice(place)))
    return { message: `'is ${not ? 'not ' : ''}null' is written ${not ? '!' : ''}blank(${field}) here`, at: place };
  if (word !== 'in' && /^in\s*\[/i.test(bare.slice(at))) return { message: `'${word}' is written in here, in lower case`, at };
  const foreign = wordAt(word) ?? wordAt(before);
  if (foreign !== undefined) return { message: foreign, at: place };
  const [, reserved] = /^Reserved identifier: (\w+)/.exec(message) ?? [];
  if (reserved !== undefined) return { message: `'${reserved}' is a reserved word of CEL; rename a field of that name first`, at };
  const double = /^(?:&&|\|\|)/.exec(bare.slice(at));
  if (double) return { message: `something is missing before ${double[0]}`, at };
  const sign = signs.find(({ sign }) => bare.startsWith(sign, at) || (sign.length > 1 && bare.startsWith(sign, at - sign.length + 1)));
  if (sign) return { message: sign.message, at: bare.startsWith(sign.sign, at) ? at : at - sign.sign.length + 1 };
  if (/\bin\s*\([^)]*$/i.test(bare.slice(0, at))) return { message: "write a list in brackets, like in ['a', 'b']", at };
  if (source[at] === "'" && source[at - 1] === "'") return { message: "a quote inside text is written \\'", at };
  if (message === 'Unexpected token: EOF') return { message: 'something is missing at the end', at };
  const [, wanted] = /^Expected (\w+), got EOF$/.exec(message) ?? [];
  const missing = wanted === undefined ? undefined : closing[wanted];
  if (missing !== undefined) return { message: `a ${missing} is missing at the end`, at };
  if (message === 'Unterminated string') return { message: 'the text that begins here is not closed', at };
  if (word !== '' && message.startsWith('Unexpected character')) return { message: `an operator is missing before '${word}'`, at };
  if (/^["']/.test(source.slice(at)) && message.startsWith('Unexpected character'))
    return { message: 'an operator is missing before this text', at };
  return { message, at };
}

/** Finds mistakes that need more than the offset where parsing stopped. */
function misspelled(
  source: string,
  bare: string,
  at: number,
  columns: readonly Column[],
): { readonly message: string; readonly at: number } | undefined {
  const curly = /[\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb]/.exec(bare);
  if (curly?.index === at) return { message: `text needs straight quotes, ' or ", not ${curly[0]}`, at };
  const arrow = bare.indexOf('=>');
  if (arrow >= 0 && /^\s*\(?\s*\w+\s*\)?\s*=>/.test(bare))
    return { message: 'an expression names the fields of the row directly, without a function around it', at: arrow };
  if (/^\s*(?:[=!<>]=|<|>|=)/.test(bare)) return { message: `a field is missing before ${bare.trim().slice(0, 2).trim()}`, at: 0 };
  const [, left, right] = /(\w+)\s*\?\?\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\w+)/.exec(source) ?? [];
  const coalesced = bare.indexOf('??');
  if (coalesced >= 0 && left !== undefined) return { message: `there is no ??; use (blank(${left}) ? ${right} : ${left})`, at: coalesced };
  const joined = /(\w+)\s*&\s*(\w+)/.exec(bare);
  const texts = joined ? [joined[1], joined[2]].map((name) => columns.find((column) => column.name === name)) : [];
  if (joined && texts.every((column) => column?.type === 'text'))
    return { message: `text is joined with +, as in ${joined[1]} + ${joined[2]}`, at: joined.index };
  return undefined;
}

/** Words of other languages, and how to write them in CEL. */
const words: Readonly<Record<string, string>> = {
  and: "'and' is written && here",
  or: "'or' is written || here",
  not: "'not' is written ! here, like !blank(email)",
  like: "there is no LIKE; use contains, startsWith or endsWith, like email.endsWith('.ca')",
  ilike: "there is no ILIKE; use lower() with contains, like lower(email).contains('.ca')",
  is: "'is' is written == here, and 'is null' is written blank(email)",
  in: "write a list in brackets after in, like in ['a', 'b']",
  between: "'between' is written with two comparisons here, like x >= 1.0 && x <= 2.0",
  case: "'case' is written condition ? value : other here",
  when: "'case when' is written condition ? value : other here",
  if: "'if' is written condition ? value : other here",
  contains: "'contains' is called with a dot here, like email.contains('.ca')",
  startswith: "'startsWith' is called with a dot here, like zipcode.startsWith('K1A')",
  endswith: "'endsWith' is called with a dot here, like email.endsWith('.ca')",
  div: "'div' is written / here",
  mod: "'mod' is written % here",
};

function wordAt(word: string): string | undefined {
  return Object.hasOwn(words, word.toLowerCase()) ? words[word.toLowerCase()] : undefined;
}

/** Operators of other languages, longer ones first. */
const signs: readonly { readonly sign: string; readonly message: string }[] = [
  { sign: '===', message: "'===' is written == here" },
  { sign: '!==', message: "'!==' is written != here" },
  { sign: '<>', message: "'<>' is written != here" },
  { sign: '=', message: "'=' is written == here" },
  { sign: '&', message: "'&' is written && here" },
  { sign: '|', message: "'|' is written || here" },
  { sign: '~', message: 'there are no regular expressions; use contains, startsWith or endsWith' },
  { sign: ';', message: 'an expression has no semicolon' },
  { sign: '`', message: 'write names without quotes' },
  { sign: '$', message: 'write a name without a $' },
];

const closing: Readonly<Record<string, string>> = { RPAREN: ')', RBRACKET: ']', RBRACE: '}', COLON: ': of a condition ? value : other' };

/** Replaces the texts in the source with blanks, so that all other offsets stay the same. */
function withoutTexts(source: string): string {
  return source.replaceAll(/"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?/g, (text) => ' '.repeat(text.length));
}
