import { existsSync } from 'node:fs';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { collectionNames, collections } from '../../collections/index.js';
import { LeadstreamError, packageFile, reasonOf, SinkError } from '../../core/index.js';
import { command, type ArgumentsOf, type Parser } from '../command.js';

const options = (yargs: Parser) =>
  yargs
    .positional('name', { type: 'string', default: 'leads', describe: 'Name of the pipeline and its file' })
    .option('from', { choices: collectionNames, default: 'leads' as const, describe: 'Collection to read' })
    .option('to', { choices: ['parquet', 'csv', 'ndjson', 'stdout'] as const, default: 'parquet' as const, describe: 'Where the rows go' })
    .example('$0 init', 'leads to parquet')
    .example('$0 init night --from users --to csv', 'another collection or destination');

type Wanted = ArgumentsOf<typeof options>;

export const init = command('init [name]', 'Write a commented pipeline file to start from', options, async (wanted, { cwd, console }) => {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(wanted.name))
    throw new LeadstreamError('E_USAGE', 'a name consists of letters, digits, dots, dashes and underscores');
  const file = `${wanted.name}.yaml`;
  const installed = 'node_modules/leadstream/pipelines/pipeline.schema.json';
  const schema = existsSync(join(cwd, installed)) ? `./${installed}` : packageFile('pipelines/pipeline.schema.json');
  if (!(await created(file, pipelineText(wanted, schema), cwd)))
    throw new LeadstreamError('E_USAGE', `${file} already exists; choose another name, or remove it`);
  console.log('info', `${file}: written`);
  console.log('info', `.env.example: ${(await created('.env.example', envExample, cwd)) ? 'written' : 'exists, left unchanged'}`);
  const added = await ignore(cwd);
  console.log('info', `.gitignore: ${added.length === 0 ? 'already has all lines' : `added ${added.join(' ')}`}`);
  console.log('info', `next: copy .env.example to .env, fill it in, and run leadstream preview ${file} --env .env`);
  return 0;
});

async function created(file: string, text: string, cwd: string): Promise<boolean> {
  try {
    await writeFile(resolve(cwd, file), text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (existsSync(resolve(cwd, file))) return false;
    throw new SinkError('E_SINK_PATH', `${file}: ${reasonOf(error)}`);
  }
}

async function ignore(cwd: string): Promise<readonly string[]> {
  const path = join(cwd, '.gitignore');
  const text = existsSync(path) ? await readFile(path, 'utf8') : '';
  const lines = text.split(/\r?\n/).map((line) => line.trim().replace(/^\//, ''));
  const wanted = ['.env', '.leadstream/', 'out/'];
  const missing = wanted.filter((line) => !lines.includes(line) && !lines.includes(line.replace(/\/$/, '')));
  if (missing.length > 0) await appendFile(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`);
  return missing;
}

const sinks: Readonly<Record<Wanted['to'], (name: string) => string>> = {
  parquet: (name) => `  # A table with types: readers use out/${name}/*.parquet\n  - parquet: { path: out/${name} }`,
  csv: (name) => `  - csv: { path: out/${name}.csv }`,
  ndjson: (name) => `  - ndjson: { path: out/${name}.ndjson }`,
  stdout: () => '  - stdout: {} # one JSON object per line',
};

function pipelineText({ name, from, to }: Wanted, schema: string): string {
  const file = `${name}.yaml`;
  return [
    `# yaml-language-server: $schema=${schema}`,
    `# ${from}, to ${to}.`,
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
    ...(from === 'leads' ? ['  - mask: { sin_number: drop } # unless somebody needs it'] : []),
    'to:',
    sinks[to](name),
    '',
  ].join('\n');
}

const envExample = `# Copy to .env, fill in, and keep it out of version control: leadstream run FILE --env .env
# Everything before /api
LEADSTREAM_BASE_URL=
# At least 8 characters
LEADSTREAM_REST_API_KEY=
`;
