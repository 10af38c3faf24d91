/**
 * Returns the target of the first link with the relation `next` in a `Link` header (RFC 8288), as it is written: it may be relative. Links with an `anchor` are
 * not about the answer and are skipped.
 *
 * @example
 * nextLinkIn('<https://a.example/x?page=2>; rel="next", <https://a.example/x?page=9>; rel="last"'); // 'https://a.example/x?page=2'
 */
export function nextLinkIn(header: string): string | undefined {
  for (const [, target = '', parameters = ''] of header.matchAll(link)) {
    const relations = new Map<string, string>();
    for (const [, name = '', quoted, plain = ''] of parameters.matchAll(parameter)) {
      const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain;
      // If a parameter appears twice, the first one counts.
      if (!relations.has(name.toLowerCase())) relations.set(name.toLowerCase(), value);
    }
    if (relations.has('anchor')) continue;
    if (relations.get('rel')?.toLowerCase().split(/\s+/).includes('next')) return target.trim();
  }
  return undefined;
}

/** Matches a target, and the parameters up to the next comma outside quotes. */
const link = /<([^>]*)>((?:[^,"]|"(?:[^"\\]|\\.)*")*)/g;
const parameter = /;\s*([^\s=;,"]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/g;
