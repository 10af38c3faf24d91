import { Client } from 'pg';
import { closeAfter } from './closing.js';
import { postgresMissing, startPostgres } from './postgres-server.js';

/** A database of its own on a server of this machine. */
export interface Postgres {
  readonly port: number;
  readonly name: string;
  /** The URL of its owner, with the password encoded. */
  readonly url: string;
  /** That URL by another port. */
  through(port: number): string;
  query(sql: string, user?: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** A connection that ends with the test. */
  session(user?: string): Promise<Client>;
}

/** Odd enough to reveal every way of writing it. */
export const password = 'p@ss/w%rd é&"7f3';

/** Declares a suite of tests, in which `database` makes an empty database. Without a server, the report shows that they are skipped. */
export function inPostgres(title: string, body: (database: () => Promise<Postgres>) => void): void {
  (postgresMissing === undefined ? describe : describe.skip)(`${title} (${postgresMissing ?? 'PostgreSQL'})`, () => body(newDatabase));
}

let running: ReturnType<typeof startPostgres> | undefined;
let databases = 0;

async function newDatabase(): Promise<Postgres> {
  const { folder, port } = await (running ??= startPostgres());
  const name = `test_${(databases += 1)}`;
  const connected = async (user: string, database = name) => {
    const client = new Client({ host: folder, port, database, user });
    await client.connect();
    return client;
  };
  const query = async (sql: string, user = 'owner', database = name) => {
    const client = await connected(user, database);
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const session = async (user = 'owner') => {
    const client = await connected(user);
    closeAfter({ close: () => client.end() });
    return client;
  };
  if (databases === 1) await query(`CREATE ROLE owner LOGIN PASSWORD '${password}'`, 'postgres', 'postgres');
  await query(`CREATE DATABASE ${name} OWNER owner`, 'postgres', 'postgres');
  await query('ALTER SCHEMA public OWNER TO owner', 'postgres');
  const through = (other: number) => `postgres://owner:${encodeURIComponent(password)}@127.0.0.1:${other}/${name}`;
  return { port, name, url: through(port), through, query, session };
}
