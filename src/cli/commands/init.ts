import { existsSync } from 'node:fs';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { collectionNames, type CollectionName } from '../../collections/index.js';
import { LeadstreamError, packageFile, SinkError, unknownName, reasonOf } from '../../core/index.js';
import { commonOptions, type CommandContext, type CommonArguments, type Runner } from '../context.js';
import { destinations, envExample, ignored, joinsOf, pipelineTextOf, type Destination, type Wanted } from '../init-template.js';
import { listed } from '../comma-list.js';
import type { Ask } from '../ask.js';

interface InitArguments extends CommonArguments {
  readonly name: string | undefined;
  readonly from: CollectionName | undefined;
  readonly join: readonly string[] | undefined;
  readonly to: Destination | undefined;
  readonly yes: boolean;
}

/** Adds `leadstream init`. */
export function addInit(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'init [name]',
    'Write a commented pipeline file to start from',
    (options) =>
      commonOptions(options)
        .positional('name', { type: 'string', describe: 'Name of the pipeline and its file' })
        .option('from', { choices: collectionNames, describe: 'Collection to read' })
        .option('join', { type: 'string', array: true, nargs: 1, describe: 'Collections to join, like bridges,areacodes' })
        .option('to', { choices: destinations, describe: 'Where the rows go' })
        .option('yes', { type: 'boolean', default: false, describe: 'Ask nothing: leads to parquet, unless options say otherwise' })
        .example('$0 init', 'asks')
        .example('$0 init night --from leads --join bridges --to parquet --yes', 'asks nothing'),
    (arguments_) => runner(arguments_, (context) => init(arguments_, context)),
  );
}

async function init(arguments_: InitArguments, context: CommandContext): Promise<number> {
  const { cwd, console } = context;
  const wanted = await wantedBy(arguments_, context);
  const file = `${wanted.name}.yaml`;
  const installed = 'node_modules/leadstream/pipelines/pipeline.schema.json';
  const schema = existsSync(join(cwd, installed)) ? `./${installed}` : packageFile('pipelines/pipeline.schema.json');
  if (!(await created(file, pipelineTextOf(wanted, schema), cwd)))
    throw new LeadstreamError('E_USAGE', `${file} already exists; choose another name, or remove it`);
  console.log('info', `${file}: written`);
  console.log('info', `.env.example: ${(await created('.env.example', envExample, cwd)) ? 'written' : 'exists, left unchanged'}`);
  const added = await ignore(cwd);
  console.log('info', `.gitignore: ${added.length === 0 ? 'already has all lines' : `added ${added.join(' ')}`}`);
  console.log('info', `next: copy .env.example to .env, fill it in, and run leadstream preview ${file} --env .env`);
  return 0;
}

/** Takes what is wanted from the options, and asks for what they lack. */
async function wantedBy(given: InitArguments, context: CommandContext): Promise<Wanted> {
  const asked = given.yes ? undefined : (await import('../ask.js')).asking(context);
  try {
    const name = given.name ?? (await answered(asked, 'Name of the pipeline', 'leads'));
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name))
      throw new LeadstreamError('E_USAGE', 'a name consists of letters, digits, dots, dashes and underscores');
    const from =
      given.from ?? oneOf('collection', await answered(asked, `Collection (${collectionNames.join(', ')})`, 'leads'), collectionNames);
    const joinable = joinsOf(from);
    const words = given.join ?? (joinable.length === 0 ? [] : [await answered(asked, `Joins, none or some of ${joinable.join(', ')}`, '')]);
    const joins = [...new Set(listed(words).map((word) => oneOf(`join of ${from}`, word, joinable)))];
    const to = given.to ?? oneOf('destination', await answered(asked, `Destination (${destinations.join(', ')})`, 'parquet'), destinations);
    return { name, from, joins, to };
  } finally {
    asked?.close();
  }
}

/** Returns an answer, or the usual one if no one is asked. */
async function answered(ask: Ask | undefined, question: string, usual: string): Promise<string> {
  return (await ask?.question(question, usual)) ?? usual;
}

function oneOf<T extends string>(kind: string, word: string, known: readonly T[]): T {
  const found = known.find((name) => name === word);
  if (found === undefined)
    throw new LeadstreamError('E_USAGE', known.length === 0 ? `there is no ${kind}` : unknownName(kind, word, known));
  return found;
}

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
