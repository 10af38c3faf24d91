/** A word and `://`, or `:/` unless it is one letter; and what is known as a scheme, whatever follows. A file of such a name is written as `./s3:x`. */
const scheme =
  /^(?:[a-z][a-z\d+.-]*:(?=\/\/)|[a-z][a-z\d+.-]+:(?=\/)|(?:s3[an]?|gs|gcs|r2|az|abfss?|adl|wasbs?|hdfs|https?|ftps?|sftp|file|oss|dbfs):)/i;

/** Returns the scheme of a path, such as `s3:`; `undefined` for one of this machine. */
export function schemeOf(path: string): string | undefined {
  return scheme.exec(path)?.[0];
}
