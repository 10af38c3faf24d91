/**
 * Helpers for tests of steps and programs.
 *
 * @packageDocumentation
 */

import { of, type OperatorFunction } from 'rxjs';
import type { CollectionName } from './collections/index.js';
import { fromPages, type Page } from './flow/index.js';
import { openRows, startService as startWith, type FaultSpec, type RunningService } from './service/index.js';

export { standalone } from './flow/index.js';

/**
 * Passes rows through a step, or through several that `pipe` of RxJS makes one, and returns the rows that come out. They arrive on one
 * page and are frozen, as those of a service.
 *
 * @throws {LeadstreamError} What the step throws.
 *
 * @example
 * const adults = filter((lead: { readonly age: string }) => Number(lead.age) >= 18);
 * await rowsOf(adults, [{ age: '17' }, { age: '18' }]); // [{ age: '18' }]
 */
export async function rowsOf<In, Out>(step: OperatorFunction<Page<In>, Page<Out>>, rows: readonly In[]): Promise<readonly Out[]> {
  const page: Page<In> = { number: 1, rows: rows.map((row) => Object.freeze({ ...row })), lease: { release: () => {} } };
  const left: Out[] = [];
  for await (const row of fromPages(of(page)).pipe(step)) left.push(row);
  return left;
}

/** A service that is listening, and the credentials that it takes. */
export interface TestService extends Pick<RunningService, 'url' | 'close'> {
  readonly auth: { readonly rest_api_key: string };
}

/**
 * Starts the data service on a free port of this machine, with these rows and none in other collections.
 *
 * @param rows Rows by collection, each with its key. Values that are not text are served as text, and fields that are `null` not at all.
 * @param faults How it misbehaves, as `--fault` of `leadstream serve`. Default: it does not.
 * @throws {LeadstreamError} `E_DATA` for rows without the key of their collection; `E_USAGE` for an invalid fault.
 *
 * @example
 * import { startService } from 'leadstream/testing';
 *
 * const { url, auth, close } = await startService({ leads: [{ lead_id: '1', lead_status: 'sold' }] }, ['503=1@times=1']);
 * const service = connect({ baseUrl: url, auth });
 */
export async function startService(
  rows: Readonly<Partial<Record<CollectionName, readonly object[]>>>,
  faults: readonly FaultSpec[] = [],
): Promise<TestService> {
  const rest_api_key = 'key-of-a-test-service';
  const { url, close } = await startWith({ source: await openRows(rows), accounts: [{ restApiKey: rest_api_key }], faults });
  return { url, auth: { rest_api_key }, close };
}
