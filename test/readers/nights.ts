/**
 * Writes tables of every format for ten nights from a service whose rows and fields change, on disk, on SeaweedFS and in its catalog, and compares each night
 * every value that readers see, by the queries that `leadstream files` prints, with DuckDB's read of the service itself. Prints what differs.
 *
 * `npm run nights -- PYTHON [CASE]`, like `delta s3`; PYTHON has the packages of nights.py; `weed` must be on the path. With SPARK_JARS, a folder with iceberg-spark-runtime, delta-spark
 * and delta-storage, Spark reads the tables on disk, too.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tableFiles, tableRuns, verifyTable } from '../../src/lake/index.js';
import { loadPipeline } from '../../src/plan/index.js';
import { rollbackTable, runPipeline } from '../../src/run/index.js';
import { startService } from '../../src/service/index.js';
import { changing, type Lists } from '../support/changing.js';
import { cli } from '../support/cli.js';
import { bucket, seaweedfs, seaweedfsMissing, warehouse } from '../support/seaweedfs.js';

type Lead = Readonly<Record<string, string>>;

interface Night {
  readonly mode?: 'replace' | 'append' | 'replace_partitions';
  readonly by?: readonly string[];
  /** Types that the pipeline casts to. */
  readonly cast?: Readonly<Record<string, string>>;
  readonly leads?: readonly Lead[];
  /** Whether predicates are compared with a full scan, too. */
  readonly probe?: boolean;
  /** What happens instead of a run. */
  readonly act?: 'rollback' | 'compact' | 'tag';
}

const texts = [
  '',
  'a',
  "it's",
  `${'x'.repeat(40)}1`,
  `${'x'.repeat(40)}2`,
  '😀'.repeat(30),
  '\u{10ffff}'.repeat(20),
  '\u{10ffff}',
  'zé',
  '0',
  'null',
  '%41 b/c',
];
const zips = ['01234', '1e3', 'a/b c%', 'é😀'];
const numbers = ['9007199254740993', '-9223372036854775808', '9223372036854775807', '0', '', '7'];

/** A lead of a night; every fifth lacks what may be null. */
function lead(id: number, more: Lead = {}): Lead {
  const text = texts[id % texts.length] ?? '';
  const some = { age: numbers[id % numbers.length] ?? '', zipcode: zips[id % zips.length] ?? '', is_valid: id % 2 === 0 ? 'yes' : 'no' };
  const at = { timestamp: String(1_706_659_200 + id * 86_399), yearmonthday: `2024010${(id % 3) + 1}`, cell_phone: String(id / 8 - 1) };
  return { lead_id: `${id}`.padStart(3, '0'), email: text, ...(id % 5 === 4 ? { cell_phone: '' } : { ...some, ...at }), ...more };
}

const leads = (from: number, to: number, more?: Lead) => Array.from({ length: to - from }, (_, index) => lead(from + index, more));

const types = {
  lead_id: 'text',
  email: 'text',
  age: 'integer',
  zipcode: 'text',
  is_valid: 'flag',
  timestamp: 'timestamp',
  yearmonthday: 'date',
  cell_phone: 'decimal',
};

/** Types of the columns in `by`. */
const duckdbTypes: Readonly<Record<string, string>> = { zipcode: 'VARCHAR', yearmonthday: 'DATE', is_valid: 'BOOLEAN' };

const nights: readonly Night[] = [
  { leads: leads(0, 24) },
  { leads: leads(12, 30, { email: 'known' }), mode: 'append' },
  { leads: leads(28, 40, { note: 'a new field 😀' }), mode: 'append', probe: true },
  { leads: leads(40, 44, { zipcode: '01234', note: '' }), mode: 'replace_partitions' },
  { act: 'compact' },
  { leads: leads(44, 50), mode: 'append' },
  { act: 'tag' },
  { leads: leads(0, 20, { email: 'other' }), by: ['yearmonthday'], cast: { age: 'text' }, probe: true },
  { leads: leads(5, 30), by: ['yearmonthday', 'is_valid'] },
  { act: 'rollback' },
  { leads: leads(18, 26, { email: 'after' }), by: ['yearmonthday'], cast: { age: 'text' }, mode: 'append' },
  { leads: [] },
  { leads: leads(0, 10), mode: 'append' },
];

if (seaweedfsMissing !== undefined) throw new Error(seaweedfsMissing);
const key = 'key-of-the-nights';
const lists: Lists = {};
const service = await startService({ source: changing(lists), accounts: [{ restApiKey: key }] });
const server = await seaweedfs();
Object.assign(process.env, server.env, {
  LEADSTREAM_REST_API_KEY: key,
  LEADSTREAM_BASE_URL: service.url,
  LEADSTREAM_CATALOG_URI: server.catalog,
  LEADSTREAM_CATALOG_CREDENTIAL: 'writer:writer-secret',
});
const base = await mkdtemp(join(tmpdir(), 'leadstream-nights-'));
const python = spawn(process.argv[2] ?? 'python3', [join(import.meta.dirname, 'nights.py')], {
  cwd: base,
  stdio: ['pipe', 'pipe', 'inherit'],
});
const answers = createInterface(python.stdout)[Symbol.asyncIterator]();

interface Answer {
  readonly said: readonly string[];
  readonly rows: number;
}

async function answerTo(order: object): Promise<Answer> {
  python.stdin.write(`${JSON.stringify(order)}\n`);
  for (;;) {
    const { value, done } = await answers.next();
    if (done === true) throw new Error('the readers ended');
    if (value.startsWith('{"said"')) return JSON.parse(value) as Answer;
  }
}

const places = { disk: join(base, 'lake'), s3: `s3://${bucket}/nights`, rest: '' };
const cases = (['plain', 'iceberg', 'delta'] as const).flatMap((kind) => [[kind, 'disk'] as const, [kind, 's3'] as const]);
let faults = 0;

for (const [kind, place] of [...cases, ['iceberg', 'rest'] as const]) {
  if (!`${kind} ${place}`.includes(process.argv[3] ?? '')) continue;
  // A catalog chooses the place.
  let path = `${places[place]}/${kind}`;
  const name = 'nights.leads';
  const catalog = { uri: server.catalog, warehouse, name, credential: '${LEADSTREAM_CATALOG_CREDENTIAL}' };
  const runs: string[] = [];
  // Polars, unlike delta-rs and DuckDB, does not find files of Delta on S3 that have letters beyond ASCII in their names.
  const readable = (leads: readonly Lead[]) =>
    `${kind} ${place}` === 'delta s3' ? leads.map((each) => ({ ...each, ...(each['zipcode'] === 'é😀' && { zipcode: 'e' }) })) : leads;
  let columns: Readonly<Record<string, string>> = types;
  let by: readonly string[] = ['zipcode'];
  for (const [index, night] of nights.entries()) {
    const isRest = place === 'rest';
    if (night.act === 'compact' && kind !== 'delta' && !isRest) continue;
    if (night.act === 'tag' && !isRest) continue;
    let act: string = night.act ?? 'run';
    let failure: string | undefined;
    if (night.act === 'compact') act = kind === 'delta' ? 'optimize' : 'overwrite';
    if (night.leads) {
      lists.leads = readable(night.leads);
      by = night.by ?? ['zipcode'];
      const hasNote = night.mode !== undefined && ('note' in columns || night.leads.some((each) => 'note' in each));
      columns = { ...types, ...night.cast, ...(hasNote && { note: 'text' }) };
      const sink = { ...(isRest ? { catalog } : { path }), table: kind, mode: night.mode ?? 'replace', partition_by: by, keep: 5 };
      const pipeline = {
        name: `${kind}_${place}`,
        service: { end_wait: '10ms' },
        from: 'leads',
        expect: { max_read_shrink: '100%' },
        rejects: { path: join(base, `${kind}-${place}.rejects.ndjson`) },
        steps: [{ cast: { types: { cell_phone: 'decimal', ...night.cast } } }],
        to: [{ parquet: sink }],
      };
      try {
        const loaded = await loadPipeline({ text: JSON.stringify(pipeline), file: 'p.yaml' }, { baseDir: base });
        const report = await runPipeline(loaded, { stateDir: join(base, 'state') });
        runs.push(report.runId);
        path = report.sinks[0]?.path ?? path;
      } catch (error) {
        failure = error instanceof Error ? error.message : 'not an error';
      }
    } else if (night.act === 'rollback') {
      runs.push((await rollbackTable(path, { stateDir: join(base, 'state') })).to);
      columns = { ...types, age: 'text' };
      by = ['yearmonthday'];
    }
    if (failure !== undefined) {
      console.log(`${kind} ${place}, night ${index + 1}: ${failure}`);
      faults += 1;
      break;
    }
    const { metadata } = await tableFiles(path);
    const kept = kind === 'plain' ? await keptQueries(path) : {};
    const probe = night.probe === true;
    const order = {
      case: `${kind} ${place}`,
      kind,
      place,
      path,
      act,
      types: columns,
      by,
      mode: night.mode ?? 'replace',
      run: runs.at(-1),
      probe,
      runs: runs.slice(-5),
      kept,
    };
    const queries: Record<string, string> = {};
    for (const reader of ['duckdb', 'polars', 'spark'])
      queries[reader] = (
        await cli(['files', path, '--for', reader], { cwd: base, env: process.env as Record<string, string> })
      ).stdout.trim();
    const list = `${service.url}/api/leads?${new URLSearchParams({ rest_api_key: key, limit: '500' }).toString()}`;
    const more = { queries, metadata, service: list, catalog: server.catalog, warehouse, name };
    const { said, rows } = await answerTo({ ...order, ...more });
    const { differences } = await verifyTable(path, { stateDir: join(base, 'state') });
    const wrong = [...differences, ...said];
    faults += wrong.length;
    console.log(
      `${kind} ${place}, night ${index + 1} (${night.act ?? night.mode ?? 'replace'}): ${rows} rows${wrong.map((line) => `\n  ${line}`).join('')}`,
    );
  }
}

/** The queries of DuckDB for the runs that a plain table keeps, by their manifests. */
async function keptQueries(path: string): Promise<Readonly<Record<string, string>>> {
  const found = (await tableRuns(path)).filter(({ manifest }) => manifest.files.some(({ name }) => name.startsWith('data/')));
  const named = found.map(({ run, manifest: { files, partition_by: by } }) => {
    const list = files.map(({ name }) => `'${path}/${name}'`).join();
    const hive = by
      .filter((level) => files.some((file) => file.name.includes(`/${level}=`)))
      .map((level) => `${level}: ${duckdbTypes[level]}`);
    return [
      run,
      `SELECT * FROM read_parquet([${list}], union_by_name = true${hive.length === 0 ? '' : `, hive_types = {${hive.join(', ')}}`})`,
    ];
  });
  return Object.fromEntries(named) as Record<string, string>;
}

python.stdin.end();
await service.close();
await rm(base, { recursive: true, force: true });
process.exitCode = faults > 0 ? 1 : 0;
