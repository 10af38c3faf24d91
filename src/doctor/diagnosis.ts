import type { Collection, CollectionName } from '../collections/index.js';
import type { Watchers } from '../events/index.js';

/** What is found out about a service, in this order; `declared_list` once for each collection that a file or program declares. */
export type Check =
  | 'reachable'
  | 'credentials'
  | 'collections'
  | 'first_page'
  | 'limit'
  | 'end_of_list'
  | 'order'
  | 'single_record'
  | 'latency'
  | 'declared_list';

/** One request and its result. It contains no credential, no identifier and no value of a record. */
export interface Exchange {
  /** For example `GET https://data.example/api/leads?page=1&limit=20`. */
  readonly request: string;
  /** HTTP status; `undefined` without an answer. */
  readonly status: number | undefined;
  /** The result in words: the status and the number of bytes, or what is wrong with it. */
  readonly answer: string;
  /** Milliseconds from the start of the request to the end of the answer. */
  readonly ms: number;
}

/** The result of one check. */
export interface DiagnosisFinding {
  readonly check: Check;
  /**
   * `ok`: as leadstream expects. `note`: known, and worth knowing. `problem`: known, and a run fails because of it. `unknown`: not determined, for
   * the reason in `message`.
   */
  readonly outcome: 'ok' | 'note' | 'problem' | 'unknown';
  readonly message: string;
  /** The requests that were sent for it. */
  readonly evidence: readonly Exchange[];
}

/** The measurements of a service; plain data without credentials and rows. */
export interface Diagnosis {
  /** Base URL. */
  readonly service: string;
  /** The collection whose pages were measured; `undefined` if none of the service's own had rows. */
  readonly measured: string | undefined;
  /** Number of requests sent, at most `maxRequests`. */
  readonly requests: number;
  readonly maxRequests: number;
  /** Maximum average requests per second. */
  readonly ratePerSecond: number;
  /** Whether everything that a run needs is known, so that `block` can be used as `service` of a pipeline file. */
  readonly ready: boolean;
  readonly findings: readonly DiagnosisFinding[];
  /** The block `service` of a pipeline file, in YAML; `undefined` unless `ready`. */
  readonly block: string | undefined;
}

/** Options of a diagnosis. */
export interface DiagnoseOptions<Own extends Collection = never> {
  /**
   * Collections to check, including those of the connection. The pages of the first standard one that is paged and has rows are measured. Default: all.
   */
  readonly collections?: readonly (CollectionName | Own['name'])[];
  /** Maximum average requests per second; the connection's own limit applies as well. Default 10. */
  readonly ratePerSecond?: number;
  /** Further content of `service` in the block besides the measurements, as written in a file. Default: nothing. */
  readonly service?: Readonly<Record<string, unknown>>;
  /** Stops the diagnosis, with `E_RUN_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
  /** Receives each request. */
  readonly watch?: Watchers | undefined;
}
