import fc from 'fast-check';

const between = (min: number, max: number) => fc.integer({ min, max });

/** One character of UTF-8's one, two or three bytes, or four: everything but halves of surrogate pairs. */
const character = fc
  .oneof(between(0, 0x7f), between(0x80, 0xd7ff), between(0xe000, 0xffff), between(0x10000, 0x10ffff))
  .map((code) => String.fromCodePoint(code));

/** Texts of any characters. (`unit: 'binary'` of fast-check says the same, and takes a second in each suite to get ready.) */
export const anyText = (size: { readonly minLength?: number; readonly maxLength?: number } = {}) => fc.string({ unit: character, ...size });
