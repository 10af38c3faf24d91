import { defaultIfEmpty, defer, finalize, ignoreElements, lastValueFrom, take, tap, throwError, type Observable } from 'rxjs';
import type { Collection } from '../collections/index.js';
import { amountOf, SourceError, type Row } from '../core/index.js';
import type { Watcher, Watchers } from '../events/index.js';
import { batchOf } from '../flow/index.js';
import { RateLimiters, type Credentials } from '../http/index.js';
import { createClient, namesOf, readPages, untilAborted } from '../source/index.js';
import type { CollectionReader, ConnectOptions, ListRequest } from '../source/index.js';
import type { RecordBatch } from '../vector/index.js';

export const maxRequests = 60;
const attempts = 3;
/** Requests for one page at most: all attempts at both paths of a collection. */
const mostPerPage = 2 * attempts;
const usualTimeoutMs = 10_000;

/** What identifies the rows of a page, in order; never shown. */
export type Names = readonly string[];

/** Sends a bounded number of requests, one at a time, and collects findings with their requests. */
export class Probe {
  readonly findings: DiagnosisFinding[] = [];
  #evidence: Exchange[] = [];
  sent = 0;
  #open = 0;
  lastMs = 0;
  #isSilent = false;
  readonly #limiters = new RateLimiters();
  readonly #clients: ReturnType<typeof createClient>[] = [];

  constructor(
    private readonly connection: ConnectOptions<Collection>,
    private readonly options: Pick<DiagnoseOptions, 'signal' | 'watch'> & { readonly ratePerSecond: number },
  ) {}

  use(auth: Credentials): void {
    const { ratePerSecond, watch = [] } = this.options;
    const { timeoutMs = usualTimeoutMs } = this.connection;
    const gentle = { timeoutMs, ratePerSecond, concurrency: 1, threads: 0, retry: { attempts, baseMs: 200, capMs: 2_000 } };
    const options = { ...this.connection, ...gentle, auth, watch: [this.#watcher(), watch].flat() };
    this.#clients.unshift(createClient(options, undefined, this.#limiters));
  }

  async batch(collection: Collection, page: number, limit: number): Promise<RecordBatch> {
    const { batch } = await this.#result(this.#reader(collection).request(collection.paged ? { page, limit } : {}));
    return batch;
  }

  /** Returns no rows if the service says that the page does not exist. */
  async page(collection: Collection, page: number, limit: number): Promise<Names> {
    try {
      return namesOf(await this.batch(collection, page, limit), collection.key);
    } catch (error) {
      if (error instanceof SourceError && error.status === 404) return [];
      throw error;
    }
  }

  /** Reads the first pages of a list as a run does, with all its checks. */
  async read(collection: Collection, most: number, limit: number, firstPage?: number): Promise<readonly Names[]> {
    const pages: Names[] = [];
    const usual = this.#reader(collection);
    const reader = { ...usual, limit, request: (page: ListRequest) => usual.request({ limit, ...page }) };
    const options = { firstPage, consistency: 'check', window: 1, concurrency: 1, endWaitMs: 1 } as const;
    const pages$ = readPages(reader, options).pipe(
      tap((page) => {
        pages.push(namesOf(batchOf(page), collection.key));
        page.lease.release();
      }),
      take(most),
    );
    await this.#result(pages$.pipe(ignoreElements(), defaultIfEmpty(undefined)));
    return pages;
  }

  find(collection: Collection, id: string): Promise<readonly Row[]> {
    return this.#result(this.#reader(collection).find(id));
  }

  add(check: Check, outcome: DiagnosisFinding['outcome'], message: string): void {
    this.findings.push({ check, outcome, message, evidence: this.#evidence.splice(0) });
  }

  /** Carries out a check. A failure of the service becomes its finding. */
  async check<T>(check: Check, work: () => Promise<Result<T>>): Promise<T | undefined> {
    const [outcome, message, found] = await work().catch(resultOf);
    this.add(check, outcome, message);
    return found;
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  #reader(collection: Collection): CollectionReader<Row> {
    const [client] = this.#clients;
    if (!client) throw new Error('requests need credentials');
    const reader = client.reader(collection);
    return {
      ...reader,
      request: (page) => this.#counted(reader.request({ ...page, purpose: 'probe' })),
      find: (id) => this.#counted(reader.find(id)),
    };
  }

  #counted<T>(request$: Observable<T>): Observable<T> {
    return defer(() => {
      const isSpent = this.sent + mostPerPage * (this.#open + 1) > maxRequests;
      if (this.#isSilent || isSpent) {
        const why = isSpent ? `the ${maxRequests} requests were used up` : 'the service stopped answering';
        return throwError(() => new SourceError('E_SOURCE_CLOSED', 'transient', why));
      }
      this.#open += 1;
      return request$.pipe(finalize(() => (this.#open -= 1)));
    });
  }

  #result<T>(result$: Observable<T>): Promise<T> {
    return lastValueFrom(result$.pipe(untilAborted(this.options.signal, 'the diagnosis was stopped by its signal')));
  }

  #watcher(): Watcher {
    let began = 0;
    return {
      request: {
        start: () => {
          this.sent += 1;
          began = performance.now();
        },
        asyncEnd: ({ url, status, bytes = 0, error, attempt }) => {
          this.lastMs = Math.round(performance.now() - began);
          // Without an answer at any attempt, further requests are pointless.
          this.#isSilent = status === undefined && attempt === attempts;
          const answer =
            error === undefined ? `HTTP ${status}, ${amountOf(bytes, 'byte')}` : error.message.replace(/^\S+(?: page \d+)?: /, '');
          this.#evidence.push({ request: `GET ${url}`, status, answer, ms: this.lastMs });
        },
      },
    };
  }
}

function resultOf(error: unknown): Result<never> {
  if (!(error instanceof SourceError)) throw error;
  return error.kind === 'transient' ? ['unknown', `not determined: ${error.message}`] : ['problem', error.message];
}

export type Result<T> = readonly [outcome: DiagnosisFinding['outcome'], message: string, found?: T | undefined];

/** What is found out about a service, in this order; `declared_list` once for each declared collection. */
export const checks = [
  ...(['reachable', 'credentials', 'collections', 'first_page', 'limit', 'end_of_list'] as const),
  ...(['order', 'single_record', 'latency', 'declared_list'] as const),
];
type Check = (typeof checks)[number];

export interface DiagnosisFinding {
  readonly check: Check;
  /** `problem`: it makes a run fail. `unknown`: not determined, for the reason in `message`. */
  readonly outcome: 'ok' | 'note' | 'problem' | 'unknown';
  readonly message: string;
  /** The requests sent for it, without credentials, identifiers and values of records. */
  readonly evidence: readonly Exchange[];
}

/** A request like `GET https://data.example/api/leads?page=1&limit=20`, and its result. */
interface Exchange {
  readonly request: string;
  readonly status: number | undefined;
  /** The status and the number of bytes, or what is wrong. */
  readonly answer: string;
  readonly ms: number;
}

export interface DiagnoseOptions {
  /** Candidates: the first standard collection that is paged and has rows is measured. Default: all. */
  readonly collections?: readonly string[];
  /** The lower of this and the connection's own limit applies. Default 10. */
  readonly ratePerSecond?: number;
  /** Name of the service in a file that has several. */
  readonly name?: string | undefined;
  /** Further content of `service` in the block, as written in a file. */
  readonly service?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal | undefined;
  readonly watch?: Watchers | undefined;
}
