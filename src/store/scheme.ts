const scheme = /^(?:[a-z][a-z\d+.-]*:(?=\/\/)|[a-z][a-z\d+.-]+:(?=\/))/i;

/** The scheme of a path, like `s3:`; `undefined` for one of this machine. */
export function schemeOf(path: string): string | undefined {
  return scheme.exec(path)?.[0];
}
