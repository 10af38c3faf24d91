const parts = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
/** The order of the parts in American English. */
const places: Readonly<Record<string, number>> = { MM: 0, dd: 1, yyyy: 2, HH: 3, mm: 4, ss: 5 };
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Writes an instant in a time zone by a pattern of yyyy, MM, dd, HH, mm and ss; other letters are between single quotes.
 *
 * @throws {RangeError} For a zone that does not exist, and for letters without quotes.
 */
export function timeText(instant: Date, zone: string, pattern: string): string {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('en-US-u-hc-h23', { timeZone: zone, ...parts });
  formats.set(zone, format);
  // `formatToParts` takes twice as long.
  const found = format.format(instant).match(/\d+/g) ?? [];
  return pattern.replaceAll(/'((?:[^']|'')*)'|([A-Za-z])\2*|'/g, (letters, literal?: string) => {
    if (literal !== undefined) return literal.replaceAll("''", "'") || "'";
    const part = found[places[letters] ?? -1];
    if (part === undefined) throw new RangeError(`a pattern has yyyy, MM, dd, HH, mm, ss, and letters like '${letters}' in quotes`);
    return part.padStart(letters.length, '0');
  });
}
