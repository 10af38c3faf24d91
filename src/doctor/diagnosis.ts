import type { Collection, CollectionName } from '../collections/index.js';
import type { Watchers } from '../events/index.js';

/** The checks of a service. */
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

/** One request and its result. It contains no credential, no identifier and no value of a record. */
export interface Exchange {
  /** For example `GET https://data.example/api/leads?page=1&limit=20&rest_api_key=***`. */
  readonly request: string;
  /** HTTP status; `undefined` without an answer. */
  readonly status: number | undefined;
  /** The result in words: a number of rows, the kind of another answer, or why there was none. */
  readonly answer: string;
  /** Milliseconds from the start of the request to the end of the answer. */
  readonly ms: number;
}

/** The result of one check. */
export interface DiagnosisFinding {
  readonly check: Check;
  /** The custom collection that it is about. Without one, it is about the service and the collection that is `measured`. */
  readonly collection?: string;
  /**
   * `ok`: as leadstream expects. `note`: known, and worth knowing. `problem`: known, and a run fails because of it. `unknown`: not determined, for
   * the reason in `message`.
   */
  readonly outcome: 'ok' | 'note' | 'problem' | 'unknown';
  readonly message: string;
  readonly evidence: readonly Exchange[];
}

/** The measurements of a service; plain data without credentials and rows. */
export interface Diagnosis {
  /** Base URL. */
  readonly service: string;
  /** The collection whose pages were measured; `undefined` if none had rows. */
  readonly measured: string | undefined;
  /** Number of requests sent, at most `maxRequests`. */
  readonly requests: number;
  readonly maxRequests: number;
  /** Maximum average requests per second. */
  readonly ratePerSecond: number;
  /** Whether everything that a run needs is known, so that `block` can be used as `service` of a pipeline file. */
  readonly ready: boolean;
  readonly findings: readonly DiagnosisFinding[];
  /** Median milliseconds by rows per page. */
  readonly latency: readonly { readonly limit: number; readonly ms: number; readonly requests: number }[];
  /** Answers per second by requests in flight. */
  readonly concurrency: readonly { readonly inFlight: number; readonly perSecond: number }[];
  /** The block `service` of a pipeline file, in YAML; `undefined` unless `ready`. */
  readonly block: string | undefined;
}

/** Options of a diagnosis. */
export interface DiagnoseOptions<Own extends Collection = never> {
  /**
   * Collections to check, including those of the connection. Measures the pages of the first standard collection that is paged and has rows, and the
   * pages of each custom one. Default: all.
   */
  readonly collections?: readonly (CollectionName | Own['name'])[];
  /** Maximum average requests per second; the connection's own limit applies as well. Default 10. */
  readonly ratePerSecond?: number;
  /** Further content of `service` in the block besides the measurements, as written in a file. Default: nothing. */
  readonly service?: Readonly<Record<string, unknown>>;
  /** Stops the diagnosis, with `E_RUN_ABORTED`. */
  readonly signal?: AbortSignal;
  /** Receives each request, all with the purpose `probe`. Credentials in their URLs are `***`, so that their forms can be told apart. */
  readonly watch?: Watchers | undefined;
}
