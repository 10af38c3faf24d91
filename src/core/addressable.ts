/** Whether a path can have an identifier: not where it is empty, made of dots, which an address leaves out, or no valid Unicode. */
export function isAddressable(id: string): boolean {
  return !/^\.*$/.test(id) && id.isWellFormed();
}
