import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type * as PG from 'pg';
import type * as Copy from 'pg-copy-streams';
import { byName, createRedactor, itemAt, LeadstreamError, nodeRequire, onAbort, reasonOf, SinkError, stoppedBy } from '../../core/index.js';
import type { SinkContext } from '../sink.js';
import { type Address, addressOf, addressProblem } from './address.js';

/** What a transaction sets for itself: through PgBouncer, a session belongs to nobody. */
const settings = [
  'SET LOCAL row_security = off',
  'SET LOCAL quote_all_identifiers = off',
  "SET LOCAL lock_timeout = '2min'",
  "SET LOCAL statement_timeout = '1h'",
  "SET LOCAL idle_in_transaction_session_timeout = '1min'",
  // The server notices that this machine, or a run that was stopped, is gone, and lets go of its locks. PostgreSQL 13 does so later.
  'SET LOCAL tcp_keepalives_idle = 60',
  "DO $$ BEGIN SET LOCAL client_connection_check_interval = '2s'; EXCEPTION WHEN OTHERS THEN NULL; END $$",
].join('; ');

/** What a transaction is for. A `look` changes nothing, whatever it does. */
type Kind = 'look' | 'change';

/** Before the second attempt at a change and those after it. */
const waitsMs = [100, 1_000, 5_000];

/**
 * Does work in a transaction, on a connection of its own. A change that lost a race or its connection is repeated. A signal stops the
 * work, but not the commit.
 *
 * @param work Gets whether the answer to a commit of it was lost.
 * @throws {SinkError} `E_SINK_DATABASE` if it cannot be told whether it is committed.
 */
export async function transaction<T>(
  { url }: { readonly url: string },
  { at, signal }: Pick<SinkContext, 'at' | 'signal'>,
  kind: Kind,
  work: (session: Session, mayBeDone: boolean) => Promise<T>,
): Promise<T> {
  const address = addressOf(url);
  if (!address) throw new SinkError('E_SINK_CONFIG', `${at}: url ${addressProblem}`);
  let undecided: DatabaseFailure | undefined;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await attempted(address, undecided ? undefined : signal, kind, (session) => work(session, undecided !== undefined));
    } catch (failure) {
      if (!(failure instanceof DatabaseFailure)) throw failure;
      if (failure.isUndecided) undecided = failure;
      const mayPass = /^(?:$|40|23505)/.test(failure.state);
      if (kind === 'look' || !mayPass || attempt === waitsMs.length) throw translated(at, undecided ?? failure);
      await wait(waitsMs[attempt]);
    }
  }
}

async function attempted<T>(address: Address, signal: AbortSignal | undefined, kind: Kind, work: (session: Session) => Promise<T>) {
  const { Client } = nodeRequire()('pg') as typeof PG;
  const client = new Client({ ...address, connectionTimeoutMillis: 15_000, keepAlive: true, keepAliveInitialDelayMillis: 10_000 });
  const session = new Session(client);
  const cut = () => void client.connection.stream.destroy();
  const left = signal && onAbort(signal, cut);
  let isCommitting = false;
  // What is lost between two statements fails the next one.
  client.on('error', () => undefined);
  try {
    signal?.throwIfAborted();
    await failing(client.connect());
    await session.query(`BEGIN ISOLATION LEVEL ${kind === 'look' ? 'REPEATABLE READ' : 'READ COMMITTED'}; ${settings}`);
    const result = await work(session);
    signal?.throwIfAborted();
    left?.();
    isCommitting = kind === 'change';
    const { command } = await session.query(isCommitting ? 'COMMIT' : 'ROLLBACK');
    // The answer to the commit of a failed transaction is its rollback.
    if (isCommitting && command !== 'COMMIT') throw new DatabaseFailure('the transaction was rolled back', '40000');
    return result;
  } catch (failure) {
    const isUndecided = isCommitting && failure instanceof DatabaseFailure && failure.state === '';
    if (signal?.aborted && !isUndecided) throw stoppedBy(signal, 'the run was stopped; nothing was published');
    if (!(failure instanceof DatabaseFailure)) throw failure;
    const doubt = isUndecided ? ' during the commit, so it is unknown whether the run is committed; the next run finds out' : '';
    // The driver takes a password that the URL does not have from the environment or a file, where no sink declares it.
    throw new DatabaseFailure(createRedactor([client.password ?? ''])(failure.message) + doubt, failure.state, isUndecided);
  } finally {
    left?.();
    cut();
  }
}

export class Session {
  constructor(private readonly client: PG.Client) {}

  async query(sql: string, values: readonly unknown[] = []): Promise<PG.QueryResult<Record<string, unknown>>> {
    return failing(this.client.query(sql, [...values]));
  }

  /** @returns The numbers in the only row. */
  async counts<const K extends string>(names: readonly K[], sql: string): Promise<Readonly<Record<K, number>>> {
    const row = itemAt((await this.query(sql)).rows, 0);
    return byName(names, (name) => Number(row[name]));
  }

  /** Sends the data of a COPY. @returns The number of rows. */
  async copy(sql: string, data: Iterable<Uint8Array>): Promise<number> {
    const { from } = nodeRequire()('pg-copy-streams') as typeof Copy;
    const stream = this.client.query(from(sql));
    await failing(pipeline(Readable.from(data), stream));
    return stream.rowCount;
  }
}

/** A failure of the database. Its message has no values of rows. */
class DatabaseFailure extends Error {
  /** @param state Empty if the connection was lost. @param isUndecided Whether that was with the answer to a commit. */
  constructor(
    message: string,
    readonly state = '',
    readonly isUndecided = false,
  ) {
    super(message);
  }
}

/** Other messages of the server, on data or raised by functions, may have values of rows. */
const discreet = /^(?:08|0A|25|28|3D|3F|40|42|53|55|57|58)/;

async function failing<T>(work: Promise<T>): Promise<T> {
  const { DatabaseError } = nodeRequire()('pg') as typeof PG;
  return work.catch((thrown: unknown) => {
    // Of several attempts at a connection, only the code is known.
    if (!(thrown instanceof DatabaseError)) throw new DatabaseFailure(reasonOf(thrown) || String(Reflect.get(Object(thrown), 'code')));
    const { code = '', message, column, constraint } = thrown;
    const named = Object.entries({ column, constraint }).flatMap(([what, name]) => (name === undefined ? [] : [`${what} ${name}`]));
    const text = [discreet.test(code) ? message : 'PostgreSQL refused the rows', ...named].join(', ');
    throw new DatabaseFailure(text, /^(?:08|57P0|25P03)/.test(code) ? '' : code);
  });
}

const codes: readonly (readonly [RegExp, SinkError['code']])[] = [
  [/^(?:$|57P|53300|25006)/, 'E_SINK_DATABASE'],
  [/^28/, 'E_SINK_AUTH'],
  [/^(?:42|3D|3F|0A)/, 'E_SINK_CONFIG'],
  [/^23505/, 'E_SINK_KEY'],
  [/^(?:2[1-4F]|38|39|44|P0)/, 'E_SINK_VALUE'],
];

function translated(at: string, { message, state }: DatabaseFailure): LeadstreamError {
  const text = `${at}: ${message}${state === '' ? '' : ` (SQLSTATE ${state})`}`;
  if (/^(?:55P03|40)/.test(state)) return new LeadstreamError('E_RUN_LOCKED', text);
  return new SinkError(codes.find(([states]) => states.test(state))?.[1] ?? 'E_SINK_WRITE', text);
}
