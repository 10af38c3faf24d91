/**
 * Returns whether an identifier can be a segment of a URL path. It cannot if it is empty, consists of dots (which URLs drop) or is not valid Unicode.
 */
export function isAddressable(id: string): boolean {
  return !/^\.*$/.test(id) && id.isWellFormed();
}
