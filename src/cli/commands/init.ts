import { existsSync } from 'node:fs';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { collectionNames, collections, type CollectionName } from '../../collections/index.js';
import { LeadstreamError, packageFile, SinkError, unknownName, reasonOf } from '../../core/index.js';
import { commonOptions, repeated, type CommandContext, type CommonArguments, type Runner } from '../context.js';
import { listed } from '../pipeline-options.js';

const destinations = ['parquet', 'csv', 'ndjson', 'stdout'] as const;

/** What a new pipeline is made from. */
interface Wanted {
  readonly name: string;
  readonly from: CollectionName;
  readonly joins: readonly CollectionName[];
  readonly to: (typeof destinations)[number];
}

interface InitArguments extends CommonArguments, Omit<Wanted, 'joins'> {
  readonly join: readonly string[];
}

/** Adds `leadstream init`. */
export function addInit(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'init [name]',
    'Write a commented pipeline file to start from',
    (options) =>
      commonOptions(options)
        .positional('name', { type: 'string', default: 'leads', describe: 'Name of the pipeline and its file' })
        .option('from', { choices: collectionNames, default: 'leads' as const, describe: 'Collection to read' })
        .option('join', { ...repeated, describe: 'Collections to join, like bridges,areacodes' })
        .option('to', { choices: destinations, default: 'parquet' as const, describe: 'Where the rows go' })
        .example('$0 init', 'leads to parquet')
        .example('$0 init night --from leads --join bridges --to csv', 'another collection, joins or destination'),
    (arguments_) => runner(arguments_, (context) => init(arguments_, context)),
  );
}

async function init({ name, from, join: words, to }: InitArguments, { cwd, console }: CommandContext): Promise<number> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
    throw new LeadstreamError('E_USAGE', 'a name consists of letters, digits, dots, dashes and underscores');
  const joinable = collectionNames.filter((other) => joinLines(from, other).length > 0);
  const joins = new Set(listed(words).map((word) => joinOf(from, word, joinable)));
  const file = `${name}.yaml`;
  const installed = 'node_modules/leadstream/pipelines/pipeline.schema.json';
  const schema = existsSync(join(cwd, installed)) ? `./${installed}` : packageFile('pipelines/pipeline.schema.json');
  if (!(await created(file, pipelineText({ name, from, joins: [...joins], to }, schema), cwd)))
    throw new LeadstreamError('E_USAGE', `${file} already exists; choose another name, or remove it`);
  console.log('info', `${file}: written`);
  console.log('info', `.env.example: ${(await created('.env.example', envExample, cwd)) ? 'written' : 'exists, left unchanged'}`);
  const added = await ignore(cwd);
  console.log('info', `.gitignore: ${added.length === 0 ? 'already has all lines' : `added ${added.join(' ')}`}`);
  console.log('info', `next: copy .env.example to .env, fill it in, and run leadstream preview ${file} --env .env`);
  return 0;
}

function joinOf(from: CollectionName, word: string, joinable: readonly CollectionName[]): CollectionName {
  const found = joinable.find((name) => name === word);
  if (found !== undefined) return found;
  throw new LeadstreamError('E_USAGE', joinable.length === 0 ? `${from} joins nothing` : unknownName(`join of ${from}`, word, joinable));
}

/** Returns the steps that join two collections, as lines of a file; none if the rows of the first do not refer to the second. */
function joinLines(from: CollectionName, other: CollectionName): readonly string[] {
  const starter = other === from ? undefined : starterJoins[other];
  return starter !== undefined && Object.hasOwn(collections[from].fields, starter.by) ? starter.lines.map((line) => `  ${line}`) : [];
}

/** How a new pipeline joins a collection. */
interface StarterJoin {
  /** The field by which rows of other collections name a row of it: whatever has such a field can be joined. */
  readonly by: string;
  /** The steps, as lines of a pipeline file. */
  readonly lines: readonly string[];
}

/** How `init` joins each collection to others; `undefined` for those that no other names. */
const starterJoins: { readonly [N in CollectionName]: StarterJoin | undefined } = {
  leads: undefined,
  bridges: {
    by: 'bridge_id',
    lines: [
      '- join: # adds bridge_title and bridge_niche',
      '    with: bridges',
      '    on: { bridge_id: id }',
      '    as: bridge',
      '    select: [title, niche]',
    ],
  },
  areacodes: {
    by: 'zipcode',
    lines: [
      '- derive: { zip_city: zip_city(zipcode), zip_state: zip_state(zipcode) }',
      '- join:',
      '    with: areacodes',
      '    on: { zip_state: state, zip_city: city }',
      '    normalize: casefold # ignore case',
      '    pick: { max: percent_of_area_code_in_city } # the main one of several',
      '    as: area',
      '    select: [area_code, city_population]',
    ],
  },
  links: undefined,
  users: {
    by: 'uid',
    lines: ['# Adds user_affid.', '- join: { with: users, on: { uid: uid }, as: user, select: [affid] }'],
  },
};

/** Writes a file unless it exists. @returns Whether it was written. */
async function created(file: string, text: string, cwd: string): Promise<boolean> {
  try {
    await writeFile(resolve(cwd, file), text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (existsSync(resolve(cwd, file))) return false;
    throw new SinkError('E_SINK_PATH', `${file}: ${reasonOf(error)}`);
  }
}

/** Adds the lines that a .gitignore lacks. @returns The lines added. */
async function ignore(cwd: string): Promise<readonly string[]> {
  const path = join(cwd, '.gitignore');
  const text = existsSync(path) ? await readFile(path, 'utf8') : '';
  const lines = text.split(/\r?\n/).map((line) => line.trim().replace(/^\//, ''));
  const missing = ignored.filter((line) => !lines.includes(line) && !lines.includes(line.replace(/\/$/, '')));
  if (missing.length > 0) await appendFile(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`);
  return missing;
}

const sinks: Readonly<Record<Wanted['to'], (name: string) => string>> = {
  parquet: (name) => `  # A table with types: readers use out/${name}/*.parquet\n  - parquet: { path: out/${name} }`,
  csv: (name) => `  - csv: { path: out/${name}.csv }`,
  ndjson: (name) => `  - ndjson: { path: out/${name}.ndjson }`,
  stdout: () => '  - stdout: {} # one JSON object per line',
};

/** @param schema Location of the JSON Schema of pipeline files, for editors. */
function pipelineText({ name, from, joins, to }: Wanted, schema: string): string {
  const file = `${name}.yaml`;
  return [
    `# yaml-language-server: $schema=${schema}`,
    `# ${from}${joins.length === 0 ? '' : ` with ${joins.join(' and ')}`}, to ${to}.`,
    '#',
    '# Check it without a request, preview the first rows, and run it:',
    `#   leadstream validate ${file}`,
    `#   leadstream preview ${file} --env .env`,
    `#   leadstream run ${file} --env .env`,
    `name: ${name}`,
    'service:',
    '  base_url: ${LEADSTREAM_BASE_URL}',
    '  auth:',
    '    # Never the key itself. Or authorized_uid and authorized_rest_api_key.',
    '    rest_api_key: ${LEADSTREAM_REST_API_KEY}',
    '  limit: 500 # rows per request',
    `from: ${from}`,
    'steps:',
    `  - dedupe: {} # by the key, ${new Intl.ListFormat('en-GB').format(collections[from].key)}`,
    ...joins.flatMap((other) => joinLines(from, other)),
    'to:',
    sinks[to](name),
    '',
  ].join('\n');
}

const envExample = [
  '# Copy to .env, fill in, and keep it out of version control: leadstream run FILE --env .env',
  '# Everything before /api',
  'LEADSTREAM_BASE_URL=',
  '# At least 8 characters',
  'LEADSTREAM_REST_API_KEY=',
  '',
].join('\n');

const ignored = ['.env', '.leadstream/', 'out/'] as const;
