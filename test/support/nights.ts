import { join } from 'node:path';
import { runPipeline, type RunOptions, type RunReport } from '../../src/run/index.js';
import { failure, type Answer, type Answerer, type RequestFacts } from '../../src/service/answer.js';
import { changing, type Lists } from './changing.js';
import { lead, leads, type LoggedService, pipelineFor, service, testKey } from './services.js';
import { temporaryFolder } from './temporary.js';

export type Lead = Readonly<Record<string, unknown>>;

/** What a service has on a night. */
export interface Served {
  readonly list: readonly Lead[];
  /** Whether a single read finds a row, or the status that refuses it; by default it finds the rows of the list. */
  readonly single?: ((id: string, reads: number) => boolean | number | Promise<boolean>) | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** Rows per page, and the most that the service returns. */
  readonly limit?: number;
  readonly cap?: number;
}

/** The table that nights merge into, and their pipeline unless they have another one. */
interface Target {
  readonly body: string;
  readonly env?: Readonly<Record<string, string>>;
  ids(folder: string, where: string): Promise<readonly Lead[]>;
  /** Checks the table after each night. */
  check?(folder: string): Promise<void>;
}

/** The key of another account of the service. */
export const otherKey = 'the-key-of-another-account';

/** A table that is merged into night after night, from a service that has other rows each night at one address. */
export class Nights {
  #single: Served['single'];
  #reads = 0;
  #cap = 500;
  /** The identifiers that were requested one by one in the last night. */
  singles: readonly string[] = [];

  private constructor(
    readonly target: Target,
    readonly lists: Lists,
    readonly from: LoggedService,
    readonly folder: string,
  ) {}

  static async of(target: Target): Promise<Nights> {
    const lists: Lists = {};
    const from = await service(changing(lists), {
      responders: [(facts, next) => nights.#answer(facts, next)],
      accounts: [{ restApiKey: testKey }, { restApiKey: otherKey }],
    });
    const nights: Nights = new Nights(target, lists, from, await temporaryFolder());
    return nights;
  }

  async run(served: Served, body = this.target.body, options: RunOptions = {}): Promise<RunReport> {
    const { requests, env } = this.from;
    requests.splice(0);
    [this.lists.leads, this.#single, this.#reads, this.#cap] = [served.list, served.single, 0, served.cap ?? 500];
    const set = { 'service.limit': String(served.limit ?? 100) };
    const pipeline = await pipelineFor({ env: { ...env, ...this.target.env, ...served.env } }, body, this.folder, set);
    try {
      return await runPipeline(pipeline, { stateDir: join(this.folder, 'state'), ...options });
    } finally {
      this.singles = requests.flatMap((request) => /^leads\/(.*)/.exec(request)?.[1] ?? []);
      await this.target.check?.(this.folder);
    }
  }

  async ids(where = ''): Promise<readonly number[]> {
    return (await this.target.ids(this.folder, where)).map(({ id }) => Number(id));
  }

  async #answer(facts: RequestFacts, next: Answerer): Promise<Answer> {
    const { id } = facts;
    if (id === null) return next({ ...facts, limit: Math.min(facts.limit, this.#cap) });
    const found = this.lists.leads?.find((row) => row['lead_id'] === id);
    this.#reads += 1;
    const isThere = await (this.#single?.(id, this.#reads) ?? found !== undefined);
    if (typeof isThere === 'number') return failure(isThere, 'refused');
    return isThere ? { kind: 'rows', rows: [JSON.stringify(found ?? lead(Number(id)))] } : failure(404, 'not found');
  }
}

export const all = leads(250);
export const without = (...gone: readonly number[]) => all.filter((_, index) => !gone.includes(index));
export const idsWithout = (...gone: readonly number[]) => [...all.keys()].filter((index) => !gone.includes(index));
export const mergedOf = ({ sinks: [sink] }: RunReport) => sink?.merged;
