import type { Collection, CollectionName } from '../collections/index.js';
import type { Watchers } from '../events/index.js';

/** What is measured of a service. */
export const checks = [
  'reachable',
  'credentials',
  'wrong_key',
  'collections',
  'first_page',
  'limit',
  'end_of_list',
  'order',
  'single_record',
  'latency',
  'concurrency',
] as const;

export type Check = (typeof checks)[number];

/** One request and what came of it. It holds no credential, no identifier and no value of a record. */
export interface Exchange {
  /** Like `GET https://data.example/api/leads?page=1&limit=20&rest_api_key=***`. */
  readonly request: string;
  /** HTTP status; `undefined` when no answer came. */
  readonly status: number | undefined;
  /** What came, in words: a number of rows, the kind of another answer, or why none came. */
  readonly answer: string;
  /** Milliseconds from the start of the request to the end of the answer. */
  readonly ms: number;
}

/** What was found out about one point. */
export interface DiagnosisFinding {
  readonly check: Check;
  /** The collection of one's own that it is about; without, it is about the service, and the collection that is `measured`. */
  readonly collection?: string;
  /**
   * `ok`: as leadstream expects it. `note`: known, and worth knowing. `problem`: known, and a run fails by it. `unknown`: not determined, and
   * `message` says why.
   */
  readonly outcome: 'ok' | 'note' | 'problem' | 'unknown';
  readonly message: string;
  readonly evidence: readonly Exchange[];
}

/** What was measured of a service; plain data without credentials and rows. */
export interface Diagnosis {
  /** Base URL. */
  readonly service: string;
  /** The collection whose pages were measured; `undefined` when none had rows. */
  readonly measured: string | undefined;
  /** Requests that were sent, at most `maxRequests`. */
  readonly requests: number;
  readonly maxRequests: number;
  /** Requests per second, on average at most. */
  readonly ratePerSecond: number;
  /** Whether all that a run needs is known: `service` of a pipeline file may be what `block` says. */
  readonly ready: boolean;
  readonly findings: readonly DiagnosisFinding[];
  /** Median milliseconds by rows per page. */
  readonly latency: readonly { readonly limit: number; readonly ms: number; readonly requests: number }[];
  /** Answers per second by requests in flight. */
  readonly concurrency: readonly { readonly inFlight: number; readonly perSecond: number }[];
  /** The block `service` of a pipeline file, in YAML; `undefined` unless `ready`. */
  readonly block: string | undefined;
}

/** What a diagnosis is about. */
export interface DiagnoseOptions<Own extends Collection = never> {
  /**
   * Collections that are looked at, those of the connection's own among them. The pages of the first that every service has, is paged and has rows are
   * measured, and the pages of each of one's own. Default: all.
   */
  readonly collections?: readonly (CollectionName | Own['name'])[];
  /** Requests per second, on average at most; the connection's own limit holds as well. Default 10. */
  readonly ratePerSecond?: number;
  /** What stands under `service` in the block besides what was measured, as a file writes it. Default: nothing. */
  readonly service?: Readonly<Record<string, unknown>>;
  /** Stops the diagnosis, with `E_RUN_ABORTED`. */
  readonly signal?: AbortSignal;
  /** Receives each request, all of the purpose `probe`. In their URLs credentials are `***`, so that the forms of them are told apart. */
  readonly watch?: Watchers | undefined;
}
