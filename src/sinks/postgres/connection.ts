import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type * as PG from 'pg';
import type * as Copy from 'pg-copy-streams';
import {
  createRedactor,
  itemAt,
  LeadstreamError,
  missingPackage,
  nodeRequire,
  onAbort,
  reasonOf,
  SinkError,
  stoppedBy,
} from '../../core/index.js';
import type { Address } from './address.js';

export function missingDriver(): string | undefined {
  const missing = ['pg', 'pg-copy-streams'].map((name) => missingPackage(name, 'postgres', 'pg pg-copy-streams'));
  return missing.find((message) => message !== undefined);
}

/** What a transaction sets for itself: through PgBouncer, a session belongs to nobody. */
const settings = [
  'SET LOCAL row_security = off',
  "SET LOCAL lock_timeout = '2min'",
  "SET LOCAL statement_timeout = '1h'",
  "SET LOCAL idle_in_transaction_session_timeout = '1min'",
  // The server notices that this machine, or a run that was stopped, is gone, and lets go of its locks. PostgreSQL 13 does so later.
  'SET LOCAL tcp_keepalives_idle = 60',
  'SET LOCAL tcp_keepalives_interval = 10',
  'SET LOCAL tcp_keepalives_count = 6',
  "DO $$ BEGIN SET LOCAL client_connection_check_interval = '2s'; EXCEPTION WHEN OTHERS THEN NULL; END $$",
].join('; ');

/** What a transaction is for. A `look` changes nothing, whatever it does; a `change` is committed if its work wants that. */
const levels = { look: 'REPEATABLE READ', change: 'READ COMMITTED' } as const;

/**
 * Does work in a transaction, on a connection of its own, so that what fails is rolled back with it.
 *
 * @param signal Stops the work, but not the commit.
 * @param work Returns `true` for what is to be committed.
 * @throws {DatabaseFailure} `undecided` if the answer to the commit was lost.
 */
export async function transaction<T>(
  address: Address,
  kind: keyof typeof levels,
  signal: AbortSignal | undefined,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { Client } = nodeRequire()('pg') as typeof PG;
  const client = new Client({ ...address, connectionTimeoutMillis: 15_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 });
  const session = new Session(client);
  const cut = () => void client.connection.stream.destroy();
  const left = signal && onAbort(signal, cut);
  // What is lost between two statements fails the next one.
  client.on('error', () => undefined);
  try {
    let result: T;
    try {
      signal?.throwIfAborted();
      await failing(client.connect());
      await session.query(`BEGIN ISOLATION LEVEL ${levels[kind]}; ${settings}`);
      result = await work(session);
      signal?.throwIfAborted();
    } catch (failure) {
      throw signal?.aborted ? stoppedBy(signal, 'the run was stopped; nothing was published') : failure;
    } finally {
      left?.();
    }
    if (kind === 'change' && result === true) await session.commit();
    else await session.query('ROLLBACK').catch(() => undefined);
    return result;
  } catch (failure) {
    // The driver takes one that the URL does not have from the environment or a file, where no sink declares it.
    if (failure instanceof DatabaseFailure) failure.message = createRedactor([client.password ?? ''])(failure.message);
    throw failure;
  } finally {
    await Promise.race([client.end().catch(() => undefined), wait(2_000, undefined, { ref: false })]);
    cut();
  }
}

export class Session {
  constructor(private readonly client: PG.Client) {}

  async query(sql: string, values: readonly unknown[] = []): Promise<PG.QueryResult<Record<string, unknown>>> {
    return failing(this.client.query(sql, [...values]));
  }

  /** @returns The only row. */
  async one(sql: string, values?: readonly unknown[]): Promise<Readonly<Record<string, unknown>>> {
    return itemAt((await this.query(sql, values)).rows, 0);
  }

  /** Sends the data of a COPY. @returns The number of rows. */
  async copy(sql: string, data: Iterable<Uint8Array>): Promise<number> {
    const { from } = nodeRequire()('pg-copy-streams') as typeof Copy;
    const stream = this.client.query(from(sql));
    await failing(pipeline(Readable.from(data), stream));
    return stream.rowCount;
  }

  async commit(): Promise<void> {
    const { command } = await this.query('COMMIT').catch((failure: unknown) => {
      throw failure instanceof DatabaseFailure && failure.kind === 'lost' ? new DatabaseFailure('undecided', failure.message) : failure;
    });
    // The answer to a failed transaction is its rollback.
    if (command !== 'COMMIT') throw new DatabaseFailure('refused', 'the transaction was rolled back', '40000');
  }
}

/** A failure of the database. Its message has no values of rows. */
export class DatabaseFailure extends Error {
  /** @param kind `lost`: the connection; `undecided`: the answer to a commit. */
  constructor(
    readonly kind: 'lost' | 'undecided' | 'refused',
    message: string,
    readonly state = '',
  ) {
    super(message);
  }
}

async function failing<T>(work: Promise<T>): Promise<T> {
  return work.catch((thrown: unknown) => {
    throw databaseFailureOf(thrown);
  });
}

/** Other messages of the server, on data or raised by functions, may have values of rows. */
const discreet = /^(?:08|0A|25|28|3D|3F|40|42|53|55|57|58)/;

function databaseFailureOf(thrown: unknown): DatabaseFailure {
  const isAnswer = thrown instanceof Error && 'severity' in thrown && 'code' in thrown && typeof thrown.code === 'string';
  // Of several attempts at a connection, only the code is known.
  if (!isAnswer) return new DatabaseFailure('lost', reasonOf(thrown) || String(Reflect.get(Object(thrown), 'code')));
  const state = String(thrown.code);
  const named = ['table', 'column', 'constraint'].flatMap((what) => {
    const name: unknown = Reflect.get(thrown, what);
    return typeof name === 'string' ? [`${what} ${name}`] : [];
  });
  const message = [discreet.test(state) ? thrown.message : 'PostgreSQL refused the rows', ...named].join(', ');
  return new DatabaseFailure(/^(?:08|57P0|25P03)/.test(state) ? 'lost' : 'refused', message, state);
}

const codes: readonly (readonly [RegExp, SinkError['code']])[] = [
  [/^(?:$|08|57P|53300|25006|25P03)/, 'E_SINK_DATABASE'],
  [/^28/, 'E_SINK_AUTH'],
  [/^(?:42|3D|3F|0A)/, 'E_SINK_CONFIG'],
  [/^23505/, 'E_SINK_KEY'],
  [/^(?:2[1-4F]|38|39|44|P0)/, 'E_SINK_VALUE'],
];

/** Does work on a database, and fails with our error for one of its failures. */
export async function translated<T>(at: string, work: () => Promise<T>): Promise<T> {
  return work().catch((failure: unknown) => {
    if (!(failure instanceof DatabaseFailure)) throw failure;
    const { state } = failure;
    const message = `${at}: ${failure.message}${state === '' ? '' : ` (SQLSTATE ${state})`}`;
    if (/^(?:55P03|40)/.test(state)) throw new LeadstreamError('E_RUN_LOCKED', message);
    throw new SinkError(codes.find(([states]) => states.test(state))?.[1] ?? 'E_SINK_WRITE', message);
  });
}
