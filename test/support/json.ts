import * as fc from 'fast-check';

/** Exact numbers, flags and null, as JSON. */
export const literal = fc.oneof(
  fc.constantFrom(...'12345678901234567890 9007199254740993 1.10 1e400 -0 -0.0 1E5 1e+5 1e-400 0 true false null'.split(' ')),
  fc.stringMatching(/^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,5})?(?:[eE][+-]?\d{1,4})?$/),
);

/** Lists and records, written with and without white space. */
export const nested = fc.letrec<{ value: string; list: string; record: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    literal,
    fc.string().map((text) => JSON.stringify(text)),
    tie('list'),
    tie('record'),
  ),
  list: fc.tuple(fc.array(tie('value'), { maxLength: 3 }), blank()).map(([items, space]) => `[${space}${items.join(`${space},`)}${space}]`),
  record: fc
    .tuple(fc.array(fc.tuple(fc.string(), tie('value')), { maxLength: 3 }), blank())
    .map(
      ([members, space]) =>
        `{${space}${members.map(([name, value]) => `${JSON.stringify(name)}${space}:${space}${value}`).join(`,${space}`)}}`,
    ),
})).record;

function blank(): fc.Arbitrary<string> {
  return fc.constantFrom('', ' ', '\n\t', '\r\n');
}

/** Resolves a pointer according to RFC 6901, on the result of `JSON.parse`. */
export function plain(value: unknown, segments: readonly string[]): unknown {
  return segments.reduce<unknown>((at, segment) => {
    if (Array.isArray(at)) return /^(?:0|[1-9]\d*)$/.test(segment) ? at[Number(segment)] : undefined;
    return typeof at === 'object' && at !== null && Object.hasOwn(at, segment) ? Reflect.get(at, segment) : undefined;
  }, value);
}

/** A document and a path into it, which may lead nowhere. */
export const places = fc.json().chain((json) => {
  const value: unknown = JSON.parse(json);
  const into = (at: unknown): fc.Arbitrary<string[]> => {
    const names = typeof at === 'object' && at !== null ? Object.keys(at) : [];
    const name = names.length > 0 ? fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, fc.string()) : fc.string();
    return fc.oneof(
      { weight: 1, arbitrary: fc.constant<string[]>([]) },
      { weight: 3, arbitrary: name.chain((first) => into(plain(at, [first])).map((rest) => [first, ...rest])) },
    );
  };
  return fc.record({ json: fc.constantFrom(json, JSON.stringify(value, undefined, 2)), segments: into(value) });
});
