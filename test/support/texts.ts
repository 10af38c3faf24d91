import fc from 'fast-check';

const between = (min: number, max: number) => fc.integer({ min, max });

/** A character of one, two, three or four bytes in UTF-8: anything but half a surrogate pair. */
const character = fc
  .oneof(between(0, 0x7f), between(0x80, 0xd7ff), between(0xe000, 0xffff), between(0x10000, 0x10ffff))
  .map((code) => String.fromCodePoint(code));

/** Texts of any characters. (`unit: 'binary'` of fast-check is equivalent, but takes a second to initialize in each suite.) */
export const anyText = (size: { readonly minLength?: number; readonly maxLength?: number } = {}) => fc.string({ unit: character, ...size });
