import type { LandedSource } from '../../src/landing/source.js';

export const secret = 'S3CRET-api-key';

/** A source, with changes. */
export function sourceOf(changes: Partial<LandedSource> = {}): LandedSource {
  const own = {
    baseUrl: 'https://data.example/v1',
    account: { rest_api_key: secret },
    collection: 'leads',
    limit: 500,
    firstPage: 1,
  } as const;
  return { ...own, ...changes };
}

/** The bytes of a page: some 100 KB that differ from page to page. */
export function bodyOf(page: number): Uint8Array {
  return Buffer.from(JSON.stringify(Array.from({ length: 2_000 }, (_, row) => ({ lead_id: `${page}-${row}`, zipcode: '02134' }))));
}
