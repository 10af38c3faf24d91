/** The syntax of a JSON pointer (RFC 6901). */
export const pointerPattern = /^(?:\/(?:[^~/]|~[01])*)*$/;

/**
 * Returns the names and indexes in a JSON pointer.
 *
 * @example
 * segmentsOf('/data/a~1b'); // ['data', 'a/b']
 * segmentsOf(''); // [], the whole
 */
export function segmentsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
