import { DuckDBInstance } from '@duckdb/node-api';

let instance: Promise<DuckDBInstance> | undefined;

afterAll(async () => {
  (await instance)?.closeSync();
  instance = undefined;
});

/**
 * Queries DuckDB, an independent reader. Values are returned as in JSON; times are in UTC.
 *
 * Each suite has one instance. It caches nothing of the files it read, because tests replace them.
 */
export async function duckdb(sql: string): Promise<Record<string, unknown>[]> {
  instance ??= open();
  const connection = await (await instance).connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

async function open(): Promise<DuckDBInstance> {
  const opened = await DuckDBInstance.create(':memory:', { enable_external_file_cache: 'false' });
  const connection = await opened.connect();
  await connection.run("set global timezone = 'UTC'");
  connection.closeSync();
  return opened;
}
