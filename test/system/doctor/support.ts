import { diagnoseService, type CollectionName, type Diagnosis, type DiagnosisFinding } from '../../../src/index.js';
import { answer, json, withServer, type Handler } from '../../support/odd-server.js';
import { testKey } from '../../support/services.js';

/** A request of a list as its service sees it. */
export interface Seen {
  /** `undefined` for a single record. */
  readonly page: number | undefined;
  readonly limit: number;
  readonly id: string | undefined;
  /** Its place among the requests that doctor sent at the same time, from 1, and how many these are. */
  readonly place: number;
  readonly together: number;
  /** All requests that came so far, from 1. */
  readonly sent: number;
}

/** What a request is refused with. */
export interface Refusal {
  readonly status: number;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** A diagnosis, and what was asked for. */
export interface Diagnosed {
  readonly diagnosis: Diagnosis;
  readonly concurrency: DiagnosisFinding;
  /** How many requests were in flight at the client with each that came, in order, of the list of leads. */
  readonly seen: readonly Seen[];
}

/**
 * Measures a list of 1,500 leads in pages of up to 500.
 *
 * @param refuses Which requests are refused. What is sent at the same time is counted where it is sent: how fast it arrives is chance.
 */
export async function diagnosed(
  refuses: (request: Seen) => Refusal | false | undefined,
  { cap = 500, collections }: { readonly cap?: number; readonly collections?: readonly CollectionName[] } = {},
): Promise<Diagnosed> {
  const seen: Seen[] = [];
  let [open, together, place] = [0, 0, 0];
  const watch = {
    request: {
      start: () => {
        if (open === 0) [together, place] = [0, 0];
        together = Math.max(together, (open += 1));
      },
      asyncEnd: () => void (open -= 1),
    },
  };
  const handler: Handler = (...asked) => {
    const [, { pathname, searchParams }] = asked;
    place += 1;
    if (searchParams.get('rest_api_key') !== testKey) return answer(401, '{"error":"key"}')(...asked);
    const id = /leads\/(\d+)$/.exec(pathname)?.[1];
    if (id === undefined && !pathname.endsWith('/leads')) return json([])(...asked);
    const [page, limit] = [Number(searchParams.get('page') ?? 1), Number(searchParams.get('limit') ?? 30)];
    const request = { page: id === undefined ? page : undefined, limit, id, place, together, sent: asked[2] };
    seen.push(request);
    const refusal = refuses(request);
    if (refusal) {
      const { status, retryAfter } = refusal;
      return answer(status, '{"error":"busy"}', retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) })(...asked);
    }
    if (id !== undefined) return json(Number(id) <= 1500 ? [{ lead_id: id }] : [])(...asked);
    if (page < 1 || limit > cap) return answer(400, '{"error":"page"}')(...asked);
    const first = (page - 1) * limit + 1;
    const rows = Array.from({ length: Math.max(0, Math.min(limit, 1501 - first)) }, (_, index) => ({ lead_id: String(first + index) }));
    json(rows)(...asked);
  };
  let diagnosis: Diagnosis | undefined;
  await withServer(handler, async ({ url }) => {
    const options = { ratePerSecond: 500, ...(collections && { collections }), service: { base_url: url }, watch };
    diagnosis = await diagnoseService({ baseUrl: url, auth: { rest_api_key: testKey } }, options);
  });
  const concurrency = diagnosis?.findings.find(({ check }) => check === 'concurrency');
  if (!diagnosis || !concurrency) throw new Error('no diagnosis');
  return { diagnosis, concurrency, seen };
}
