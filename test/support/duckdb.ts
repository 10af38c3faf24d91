import { DuckDBInstance } from '@duckdb/node-api';

/** Asks DuckDB, a reader that nobody here wrote. Values come as JSON would show them. */
export async function duckdb(sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    await connection.run("set timezone = 'UTC'");
    const reader = await connection.runAndReadAll(sql);
    return reader.getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
