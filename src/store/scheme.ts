const scheme = /^(?:[a-z][a-z\d+.-]*:(?=\/\/)|[a-z][a-z\d+.-]+:(?=\/))/i;

/** Returns the scheme of a path, such as `s3:`; `undefined` for one of this machine. */
export function schemeOf(path: string): string | undefined {
  return scheme.exec(path)?.[0];
}
