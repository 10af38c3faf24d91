import { closeAfter } from '../../support/closing.js';
import { generate, startService } from '../../../src/service/index.js';
import type { GenerateOptions, RunningService, StartOptions, Account } from '../../../src/service/index.js';

export type TextRow = Record<string, string>;

export const account: Account = { uid: '7', key: 'k-e-y', restApiKey: 'md5-like' };
export const pair = 'authorized_uid=7&authorized_rest_api_key=k-e-y';
export const alone = 'rest_api_key=md5-like';

/** Small counts, so that a test needs no more rows than it says. */
export function small(options: GenerateOptions = {}): GenerateOptions {
  return { leads: 1200, bridges: 40, links: 60, users: 50, seed: 7, ...options };
}

/** Starts a service for one test. */
export const served = async (options: Partial<StartOptions> = {}): Promise<RunningService> =>
  closeAfter(await startService({ source: generate(small()), accounts: [account], ...options }));

/** The rows at a path with its query, read with good credentials. */
export async function rowsAt(service: RunningService, path: string): Promise<TextRow[]> {
  const response = await fetch(`${service.url}/api/${path}${path.includes('?') ? '&' : '?'}${alone}`);
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return rowsOf(await response.json());
}

/** Every row of a paged collection. */
export async function allRows(service: RunningService, collection: string): Promise<TextRow[]> {
  const rows: TextRow[] = [];
  for (let page = 1; ; page += 1) {
    const more = await rowsAt(service, `${collection}?page=${page}&limit=500`);
    if (more.length === 0) return rows;
    rows.push(...more);
  }
}

/** A list of objects whose values are strings, or an error. */
export function rowsOf(json: unknown): TextRow[] {
  if (!Array.isArray(json)) throw new Error('no list');
  return json.map((row: unknown) => {
    if (typeof row !== 'object' || row === null) throw new Error('no object');
    return Object.fromEntries(
      Object.entries(row).map(([name, value]: [string, unknown]) => {
        if (typeof value !== 'string') throw new Error(`${name} is no string`);
        return [name, value];
      }),
    );
  });
}
