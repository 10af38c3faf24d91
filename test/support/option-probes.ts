/** Values that callers without types may pass, by their names in test messages. The compiler determines which options accept their types. */
export const probes = {
  null: null,
  NaN: NaN,
  Infinity: Infinity,
  '-1': -1,
  'a fraction': 1000.5,
  'an empty text': '' as string,
  'a text': '/no such word' as string,
  true: true as const,
  'an empty list': [] as never[],
  'a list of null': [null],
  'a function': (): void => {},
  'a symbol': Symbol('none'),
  'an object of another kind': { noSuchOption: 1n },
};
