import { readFile } from 'node:fs/promises';
import { arch, cpus, platform, totalmem } from 'node:os';

/** What the numbers depend on, without any host name or path. */
export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly packages: Readonly<Record<string, string>>;
}

const named = [
  'got',
  'rxjs',
  'fast-csv',
  'hyparquet-writer',
  'hyparquet',
  'parquetjs-lite',
  '@bokuweb/zstd-wasm',
  '@marcbachmann/cel-js',
  'zipcodes',
  '@duckdb/node-api',
];

/** Describes the machine, Node and the packages that matter for the numbers. */
export async function machine(): Promise<Machine> {
  const packages: Record<string, string> = { leadstream: await versionIn('package.json') };
  for (const name of named) packages[name] = await versionIn(`node_modules/${name}/package.json`);
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${arch()}`,
    node: process.versions.node,
    packages,
  };
}

async function versionIn(file: string): Promise<string> {
  const { version }: { readonly version: string } = JSON.parse(await readFile(file, 'utf8'));
  return version;
}
