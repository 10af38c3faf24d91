import { resolve } from 'node:path';
import type { ArgumentsCamelCase, Argv } from 'yargs';
import type { TableFiles } from '../../tables.js';
import { GateError, LeadstreamError, SinkError, type DeclaredType } from '../../core/index.js';
import { amount, amountOf, defined, itemAt, jsonOf, mergeWords, printable } from '../../core/index.js';
import { fixedPath, fixedPlace, isRemote } from '../../store/index.js';
import { command, toggle, type Command, type CommandContext, type OptionsIn, type Parser } from '../command.js';
import { printTo } from '../console.js';

function tableOptions(yargs: Parser) {
  return yargs
    .positional('dir', { type: 'string', demandOption: true, describe: 'Table, like lake/leads, or the pipeline file that writes it' })
    .option('endpoint', { type: 'string', describe: 'Address of a store other than S3 itself' });
}

const stateOption = {
  type: 'string',
  default: '.leadstream',
  describe: 'State folder of the runs, with the redo log and the log of runs',
} as const;

type TableOptions = OptionsIn<ReturnType<typeof tableOptions>>;

/** Makes a command for the table of its argument. @param whole Whether tables published together count as one. */
function tableCommand<T extends TableOptions>(
  name: string,
  summary: string,
  options: (yargs: Argv<TableOptions>) => Argv<T>,
  work: (table: Awaited<ReturnType<typeof tableOf>>, arguments_: ArgumentsCamelCase<T>, context: CommandContext) => Promise<void>,
  whole = false,
): Command {
  return command(
    `${name} <dir>`,
    summary,
    (yargs) => options(tableOptions(yargs)),
    async (arguments_, context) => {
      const table = await tableOf(arguments_, context, whole);
      if (table.database && !['runs', 'verify'].includes(name))
        throw new LeadstreamError('E_USAGE', `${table.path}: ${name} is for files; a database keeps neither files nor earlier rows`);
      await work(table, arguments_, context);
      return 0;
    },
  );
}

/**
 * Finds the table of an argument, possibly the only one of a pipeline file, and sets the environment for its catalog.
 * @param whole Whether the folder names tables that are published together.
 */
async function tableOf({ dir, endpoint }: TableOptions, { console, cwd, env, signal }: CommandContext, whole: boolean) {
  const { loadPipelines, RestCatalog, Stores } = await import('../../index.js');
  const isFile = !isRemote(dir) && /\.(?:ya?ml|json)$/i.test(dir);
  const pipelines = isFile ? await loadPipelines(dir, { env, cwd }) : [];
  const found = pipelines.flatMap(({ plan, secrets, store, together }) => {
    console.hide(secrets);
    return plan.sinks.flatMap(({ definition: { name, catalog: access, ledger }, config, output = '', place }) => {
      const catalog = access?.(config);
      const path = place ?? ((whole && together?.folder) || (catalog?.name ?? output));
      const database = ledger && (() => ledger(config));
      return name === 'parquet' || database ? [{ path, store, catalog, database }] : [];
    });
  });
  const names = [...new Set(found.map(({ path }) => path))].join(', ');
  const [{ path, store, catalog, database } = { path: dir }] = found;
  if (isFile && names !== path)
    throw new LeadstreamError('E_USAGE', `${dir} does not write exactly one table; name it: ${names || 'none'}`);
  const stores = new Stores({ ...store, ...defined({ endpoint }) }, signal);
  if (database) return { path, stores, database };
  if (catalog === undefined) return { path: fixedPlace(path, 'DIR', cwd), stores };
  const { uri, token = '', credential = '' } = catalog;
  Object.assign(process.env, { LEADSTREAM_CATALOG_URI: uri, LEADSTREAM_CATALOG_TOKEN: token, LEADSTREAM_CATALOG_CREDENTIAL: credential });
  const table = await new RestCatalog(catalog).load();
  if (table === undefined) throw new SinkError('E_SINK_FOREIGN', `the catalog ${uri} has no table ${path}`);
  return { path: table.metadata.location, stores };
}

const runs = tableCommand(
  'runs',
  'List the runs of a table',
  (yargs) =>
    yargs
      .option('json', { ...toggle, describe: 'One JSON object per run, with its whole manifest' })
      .example('$0 runs lake/leads', 'the published run, and those that are kept'),
  async ({ path, stores, database }, { json }, { stdout }) => {
    const print = async (all: readonly object[], table: readonly (readonly string[])[]) =>
      printTo(stdout, json ? all.map((run) => `${jsonOf(run)}\n`).join('') : textTable(table));
    if (database) {
      const { runs: committed } = await database();
      const words = mergeWords.filter((word) => committed.some((run) => run[word] !== undefined));
      const titles = ['run', 'committed_at', 'mode', 'total', ...words] as const;
      return print(committed, [titles, ...committed.map((run) => titles.map((name) => printable(String(run[name] ?? 0))))]);
    }
    const { tableRuns } = await import('../../index.js');
    const all = await tableRuns(path, { stores });
    const merged = all.some(({ manifest }) => manifest.run.merged) ? mergeWords : [];
    const titles = ['run', 'state', 'finished', 'mode', 'rows', 'written', ...merged, 'files', 'bytes', 'consistency'];
    const rows = all.map(({ run, state, manifest }) => [
      ...[run, state, manifest.finished_at, manifest.compacted ? 'compact' : manifest.mode].map(printable),
      ...[manifest.rows, manifest.run.written].map(amount),
      ...merged.map((word) => (manifest.run.merged ? amount(manifest.run.merged[word] ?? 0) : '')),
      ...[manifest.files.length, manifest.bytes].map(amount),
      manifest.partial ? 'partial' : [manifest.scope ?? [], manifest.consistency].flat().join(', '),
    ]);
    return print(all, [titles, ...rows]);
  },
);

const files = tableCommand(
  'files',
  'List the current data files of a table',
  (yargs) =>
    yargs
      .option('for', {
        choices: ['duckdb', 'polars', 'spark'] as const,
        describe: 'Print the query for this reader: SQL, or Python',
      })
      .example('$0 files s3://lake/leads', 'one file per line')
      .example('duckdb -c "$($0 files s3://lake/leads --for duckdb)"', 'the rows'),
  async ({ path, stores }, { for: reader }, { stdout }) => {
    const { tableFiles } = await import('../../index.js');
    const found = await tableFiles(path, { stores });
    await printTo(stdout, reader === undefined ? found.files.map((file) => `${file}\n`).join('') : `${queries[reader](path, found)}\n`);
  },
);

type Reader = 'duckdb' | 'polars' | 'spark';

type Query = (path: string, found: TableFiles) => string;

/** How readers name a table. Later columns are null in earlier files; types of folder columns are explicit, as readers guess numbers. */
const queries: Readonly<Record<Reader, Query>> = {
  duckdb: (path, { table, metadata = path, files: all, folders }) => {
    if (table !== 'plain') return `SELECT * FROM ${table}_scan(${sqlText(metadata)})`;
    const types = folders.map(({ name, type }) => `${sqlText(name)}: ${typesOf[type].duckdb}`);
    const hive = types.length === 0 ? 'hive_partitioning = false' : `hive_partitioning = true, hive_types = {${types.join(', ')}}`;
    const literal = all.map((file) => sqlText(file.replaceAll(/[*?[]/g, '[$&]')));
    return `SELECT * FROM read_parquet([${literal.join(', ')}], union_by_name = true, ${hive})`;
  },
  polars: (path, { table, metadata = path, files: all, folders }) => {
    if (table === 'delta' && /[#?{}%]/.test(path))
      throw new LeadstreamError('E_USAGE', `${path}: Polars finds no Delta table below a path with # ? { } or %; choose another reader`);
    if (table !== 'plain') return `polars.scan_${table}(${JSON.stringify(metadata)})`;
    const types = folders.map(({ name, type }) => `${JSON.stringify(name)}: polars.${typesOf[type].polars}`);
    const hive = types.length === 0 ? 'hive_partitioning=False' : `hive_partitioning=True, hive_schema={${types.join(', ')}}`;
    return `polars.scan_parquet(${JSON.stringify(all)}, glob=False, missing_columns="insert", ${hive})`;
  },
  spark: (path, { table, metadata = path, files: all, columns, folders }) => {
    const named = (text: string) => JSON.stringify(text.replace(/^s3:/, 's3a:'));
    if (table !== 'plain') return `spark.read.format("${table}").load(${named(metadata)})`;
    const schema = [...columns, ...folders].map(({ name, type }) => `\`${name.replaceAll('`', '``')}\` ${typesOf[type].spark}`);
    // Spark accepts only one base folder of partitions.
    const baseOf = (file: string) => (folders.length === 0 ? '' : file.slice(0, file.search(/\/(?:[^/]+=[^/]+\/)*[^/]+$/)));
    const reads = [...new Set(all.map(baseOf))].map((base) => {
      const below = base === '' ? '' : `.option("basePath", ${named(base)})`;
      // Spark takes only `basePath` literally.
      const files = all.filter((file) => baseOf(file) === base).map((file) => named(file.replaceAll(/[*?[\]{}\\]/g, '\\$&')));
      return `spark.read.schema(${JSON.stringify(schema.join(', '))})${below}.parquet(${files.join(', ')})`;
    });
    return reads.reduce((sum, read) => `${sum}.unionByName(${read})`);
  },
};

const typesOf: Readonly<Record<DeclaredType, Readonly<Record<Reader, string>>>> = {
  text: { duckdb: 'VARCHAR', polars: 'String', spark: 'STRING' },
  flag: { duckdb: 'BOOLEAN', polars: 'Boolean', spark: 'BOOLEAN' },
  integer: { duckdb: 'BIGINT', polars: 'Int64', spark: 'BIGINT' },
  decimal: { duckdb: 'DOUBLE', polars: 'Float64', spark: 'DOUBLE' },
  timestamp: { duckdb: 'TIMESTAMPTZ', polars: 'Datetime("us", "UTC")', spark: 'TIMESTAMP' },
  date: { duckdb: 'DATE', polars: 'Date', spark: 'DATE' },
};

function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function textTable(rows: readonly (readonly string[])[]): string {
  const widthOf = (index: number) => Math.max(...rows.map((row) => row[index]?.length ?? 0));
  const lines = rows.map((row) => row.map((cell, index) => cell.padEnd(widthOf(index))).join('  '));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

const rollback = tableCommand(
  'rollback',
  'Publish an earlier run of a table again',
  (yargs) =>
    yargs
      .option('to', {
        type: 'string',
        describe:
          'Run to publish, earlier or later (default: the one that the published run replaced); CURRENT accepts a state that others restored',
      })
      .option('state-dir', stateOption)
      .example('$0 rollback lake/leads', 'one run back; each further call, one more')
      .example('$0 rollback lake/leads --to RUN', 'to any run listed by `runs`, also forward'),
  async ({ path, stores }, { dir, to, stateDir }, { console, cwd }) => {
    const { rollbackTable } = await import('../../index.js');
    const done = await rollbackTable(path, { to, stores, stateDir: fixedPath(stateDir, '--state-dir', cwd) });
    const isAccepted = done.from === done.to;
    if (done.evidence === 'none' && !isAccepted)
      console.event('warning', { code: 'W_STATE_LOG' }, `W_STATE_LOG: ${unlogged(dir, done.to, stateDir)}`);
    const before = done.from === undefined ? '' : `; run ${done.from} is kept`;
    console.log('info', `${dir}: run ${done.to} is ${isAccepted ? 'accepted as the current one' : `published again${before}`}`);
  },
  true,
);

function unlogged(dir: string, run: string, stateDir: string): string {
  const why = `no log of runs in ${stateDir} has run ${run}, so its manifest could not be checked`;
  return `${dir}: ${why}; name the state folder of its runs with --state-dir`;
}

const compact = tableCommand(
  'compact',
  'Merge the small files of a table, without changing its rows',
  (yargs) => yargs.option('state-dir', stateOption).example('$0 compact lake/all_leads', 'merges the small files of many nights'),
  async ({ path, stores }, { dir, stateDir }, { console, cwd, signal }) => {
    const { compactTable } = await import('../../index.js');
    const { from, to } = await compactTable(path, { stores, stateDir: fixedPath(stateDir, '--state-dir', cwd), signal });
    console.log('info', `${dir}: ${from === to ? 'no partition has several small files' : `run ${to} has large files for small ones`}`);
  },
);

const verify = tableCommand(
  'verify',
  'Compare the files of a table with its manifest, byte by byte',
  (yargs) =>
    yargs
      .option('run', { type: 'string', describe: 'Kept run to verify instead of the published one', conflicts: 'manifest' })
      .option('manifest', { type: 'string', describe: 'Manifest of a copied table; DIR is then the folder with the copied files' })
      .option('state-dir', {
        type: 'string',
        defaultDescription: '".leadstream"',
        describe: 'State folder of the runs, whose log of runs finds a moved table by its run',
      })
      .example('$0 verify lake/leads', 'exits with 65 if anything differs')
      .example('$0 verify backup/leads --manifest backup/leads.manifest.json', 'a copy'),
  async ({ path, stores, database }, { dir, manifest, stateDir: given, run: wanted }, { console, cwd }) => {
    if (database) {
      const { runs: committed, rows: found } = await database();
      const { run: last, total } = itemAt(committed, 0);
      if (found !== total)
        throw new GateError('E_GATE_VERIFY', `${path}: run ${last} left ${amountOf(total, 'row')}, and there are ${amount(found)}`);
      return console.log('info', `${path}: there are ${amountOf(found, 'row')}, as run ${last} left; only their number is known`);
    }
    const { verifyTable } = await import('../../index.js');
    const stateDir = given ?? '.leadstream';
    const { run, files, rows, bytes, differences, evidence, movedFrom } = await verifyTable(path, {
      ...{ run: wanted, stores },
      manifest: manifest === undefined ? undefined : resolve(cwd, manifest),
      stateDir: fixedPath(stateDir, '--state-dir', cwd),
    });
    const wrong = differences.map((difference) => `${dir}: ${difference}`);
    if (wrong.length > 0) throw new GateError('E_GATE_VERIFY', wrong);
    if (evidence === 'none' && manifest === undefined) {
      const unchecked = unlogged(dir, run, stateDir);
      // A given folder must have the runs.
      if (given !== undefined) throw new LeadstreamError('E_STATE_LOG', unchecked);
      console.event('warning', { code: 'W_STATE_LOG' }, `W_STATE_LOG: ${unchecked}`);
    }
    const counts = `${amountOf(rows, 'row')}, ${amountOf(files, 'file')}, ${amountOf(bytes, 'byte')}`;
    const checked = evidence === 'none' ? 'could not be checked, because no log of runs has it' : 'is the one that the run wrote (SHA-256)';
    const where = movedFrom === undefined ? '' : `, where the table is ${movedFrom}`;
    return console.log('info', `${dir}: run ${run} matches its manifest: ${counts}; the manifest ${checked}${where}`);
  },
);

export const tableCommands: readonly Command[] = [verify, rollback, compact, runs, files];
