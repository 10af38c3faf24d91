/** Returns a value as JSON, with what JSON lacks: whole numbers of any size, dates and maps. */
export function tagged(value: unknown): string {
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, name, given: unknown) {
    const own = this[name];
    if (typeof own === 'bigint') return { $bigint: String(own) };
    if (Object.is(own, -0)) return { $number: '-0' };
    if (own instanceof Date) return { $date: own.toISOString() };
    if (own instanceof Map) return { $map: [...own] };
    return given;
  });
}

export function untagged(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    const [[tag, content] = [], ...others] = Object.entries(value);
    if (others.length > 0) return value;
    if (tag === '$bigint') return BigInt(String(content));
    if (tag === '$number') return Number(content);
    if (tag === '$date') return new Date(String(content));
    return tag === '$map' && Array.isArray(content) ? new Map(content as readonly (readonly [unknown, unknown])[]) : value;
  });
}
