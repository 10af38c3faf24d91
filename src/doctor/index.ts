import type { Collection } from '../collections/index.js';
import type { ConnectOptions } from '../source/index.js';
import type { DiagnoseOptions, Diagnosis } from './probe.js';

export type { DiagnoseOptions, Diagnosis, DiagnosisFinding, Exchange } from './probe.js';

/**
 * Finds out how a service behaves where its documentation is silent: which credentials work, the number of the first page, the cap of `limit`, what
 * follows the end of a list, whether lists have an order, single records, and how fast it answers. The first pages of custom collections are read as
 * declared. It sends at most 60 requests, one at a time. The behaviour of the service is a finding, never an error.
 *
 * @throws {SourceError} `E_SOURCE_CONFIG` for an invalid connection.
 * @throws {LeadstreamError} `E_USAGE` for invalid options.
 * @throws {LeadstreamError} `E_RUN_ABORTED` when `signal` stopped it.
 *
 * @example
 * const { ready, findings, block } = await diagnoseService({ baseUrl: 'https://data.example', auth: { rest_api_key: key } });
 * // findings: [{ check: 'first_page', outcome: 'ok', message: 'page 1 is the first', evidence: [{ request: 'GET …', … }] }, …]
 */
export async function diagnoseService<Own extends Collection = never>(
  connection: ConnectOptions<Own>,
  options: DiagnoseOptions<Own> = {},
): Promise<Diagnosis> {
  const { diagnose } = await import('./diagnose.js');
  return diagnose(connection, options);
}
