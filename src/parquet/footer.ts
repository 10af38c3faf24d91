import type { FileMetaData } from 'hyparquet';

/** The footer of a Parquet file, read by a library that wrote none of it, and that is loaded on first use; `undefined` where there is none. */
export async function footerOf(path: string): Promise<FileMetaData | undefined> {
  const { asyncBufferFromFile, parquetMetadataAsync } = await import('hyparquet');
  return asyncBufferFromFile(path)
    .then((file) => parquetMetadataAsync(file))
    .catch(() => undefined);
}
