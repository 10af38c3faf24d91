import { existsSync, readFileSync, statSync, type Stats } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseEnv } from 'node:util';
import type { ArgumentsCamelCase, Argv } from 'yargs';
import { itemAt, LeadstreamError, reasonOf, secretVariables, unknownName } from '../core/index.js';
import type { ConnectOptions, Extensions, LoadOptions, Pipeline } from '../index.js';
import { logLevels, type CliConsole, type OutputStream, type SecretSet } from './console.js';

export interface CommandContext {
  readonly console: CliConsole;
  /** The environment, with the variables that the `--env` file adds. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly envFile: string | undefined;
  readonly cwd: string;
  /** Where data goes; everything else goes to stderr. */
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly signal: AbortSignal;
}

export function commonOptions(yargs: Argv) {
  return (
    yargs
      .option('quiet', { type: 'boolean', default: false, describe: 'Print errors only' })
      .option('log-level', {
        choices: logLevels,
        default: 'info' as const,
        describe: 'Most detailed level to print; debug reports every request, page, step, write and commit',
      })
      .option('log-format', { ...textOrJson, describe: 'Format of messages on stderr' })
      // Not --env-file, which Node takes for itself, wherever it is on the command line.
      .option('env', { type: 'string', describe: 'File of NAME=value lines to add to the environment' })
  );
}

export type OptionsIn<A> = A extends Argv<infer T> ? T : never;
type CommonOptions = OptionsIn<ReturnType<typeof commonOptions>>;

export type Parser = Argv<CommonOptions>;

export type Runner = (common: ArgumentsCamelCase<CommonOptions>, work: (context: CommandContext) => Promise<number>) => Promise<void>;

export type Command = (parser: Parser, runner: Runner) => Parser;

export type ArgumentsOf<O extends (yargs: Parser) => Argv<unknown>> = ArgumentsCamelCase<OptionsIn<ReturnType<O>>>;

/** @param usage Like `run [files..]`. */
export function command<T extends CommonOptions>(
  usage: string,
  summary: string,
  options: (yargs: Parser) => Argv<T>,
  work: (arguments_: ArgumentsCamelCase<T>, context: CommandContext) => Promise<number>,
): Command {
  return (parser, runner) =>
    parser.command(usage, summary, options, (arguments_) =>
      runner(arguments_ as ArgumentsCamelCase<T & CommonOptions>, (context) => work(arguments_, context)),
    );
}

export const repeated = { type: 'string', array: true, nargs: 1, default: [] as string[] } as const;

export const textOrJson = { choices: ['text', 'json'] as const, default: 'text' as const };

export const toggle = { type: 'boolean', default: false } as const;

export const pipelineFile = { type: 'string', demandOption: true, describe: 'Pipeline file (YAML)' } as const;

export const leadsUntil = {
  type: 'string',
  default: new Date().toISOString().slice(0, 10),
  defaultDescription: 'today',
  describe: 'Generated leads end before this midnight UTC: YYYY-MM-DD',
} as const;

export const onlyPipeline = { type: 'string', describe: 'Name of the pipeline, if the file has several' } as const;

export function pipelineOptions(yargs: Parser) {
  return yargs
    .option('plugin', pluginOption)
    .option('set', { ...repeated, describe: 'Override a value of the file: PATH=VALUE, like service.limit=100' });
}

export const pluginOption = { ...repeated, describe: 'Module with custom steps and sinks, like ./mine.mjs; it is executed' } as const;

interface PipelineArguments {
  readonly set: readonly string[];
  readonly plugin: readonly string[];
}

export async function loadOptionsOf({ set, plugin }: PipelineArguments, context: CommandContext): Promise<LoadOptions> {
  const { env, cwd } = context;
  const values = new Map<string, string>();
  for (const pair of set) {
    const at = pair.indexOf('=');
    if (at < 1) throw new LeadstreamError('E_USAGE', '--set takes PATH=VALUE, like service.limit=100');
    const path = pair.slice(0, at);
    if (values.has(path)) throw new LeadstreamError('E_USAGE', `--set ${path} is given twice`);
    values.set(path, pair.slice(at + 1));
  }
  return { ...(await loadPlugins(plugin, context)), env, cwd, set: Object.fromEntries(values) };
}

export async function loadPlugins(files: readonly string[], { cwd }: CommandContext): Promise<Extensions> {
  if (files.length === 0) return {};
  const { extensionsOf } = await import('../index.js');
  const all: Extensions[] = [];
  for (const file of files) {
    try {
      all.push(extensionsOf((await import(pathToFileURL(resolve(cwd, file)).href)) as object));
    } catch (failure) {
      throw new LeadstreamError('E_USAGE', `--plugin ${file}: ${reasonOf(failure)}`);
    }
  }
  return { steps: all.flatMap(({ steps = [] }) => steps), sinks: all.flatMap(({ sinks = [] }) => sinks) };
}

/** Loads the one pipeline that a command works on. From here on, the console hides its secrets. */
export async function loadOne(
  arguments_: PipelineArguments & { readonly file: string; readonly only: string | undefined },
  context: CommandContext,
): Promise<Pipeline> {
  const { file, only } = arguments_;
  const { loadPipelines } = await import('../index.js');
  const pipelines = await loadPipelines(file, await loadOptionsOf(arguments_, context));
  const [first, ...others] = named(pipelines, only === undefined ? [] : [only]);
  if (!first || others.length > 0) {
    const names = pipelines.map(({ name }) => name).join(', ');
    throw new LeadstreamError('E_USAGE', `${file} holds several pipelines; name one with --only: ${names}`);
  }
  context.console.hide(first.secrets);
  return first;
}

export async function connectionOf(who: string, { env }: CommandContext): Promise<ConnectOptions> {
  const { connectionFromEnvironment } = await import('../index.js');
  const connection = connectionFromEnvironment(env);
  if (!('missing' in connection)) return connection;
  const message = `${who} takes the service and its key from the environment, which must set ${connection.missing}`;
  throw new LeadstreamError('E_SPEC_REFERENCE', message);
}

export function named<P extends Pick<Pipeline, 'name'>>(pipelines: readonly P[], only: readonly string[]): readonly P[] {
  const names = pipelines.map(({ name }) => name);
  refuseUnknown('--only', 'pipeline', only, names);
  return only.length === 0 ? pipelines : pipelines.filter(({ name }) => only.includes(name));
}

export function refuseUnknown(option: string, kind: string, words: readonly string[], known: readonly string[]): void {
  const unknown = words.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new LeadstreamError('E_USAGE', `${option}: ${unknownName(kind, unknown, known)}`);
}

/** `--columns lead_id,email`, or one by one. */
export function wordsIn(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => word.split(',')).flatMap((word) => word.trim() || []);
}

/**
 * Returns the files that a command line names, each once. A word that is not a file may be anything typed by mistake, even a key, so it is
 * not repeated; the name of a pipeline file is left to the code that opens it.
 */
export function filesNamed(words: readonly string[], cwd: string): readonly string[] {
  const paths = words.map((word) => resolve(cwd, word));
  const missing = words.findIndex((word, index) => !/\.(?:ya?ml|json)$/i.test(word) && !existsSync(itemAt(paths, index)));
  if (words.length > 1 && missing >= 0) throw new LeadstreamError('E_USAGE', `file ${missing + 1} of ${words.length} does not exist`);
  return words.filter((_word, index) => paths.indexOf(itemAt(paths, index)) === index);
}

export function secretsIn(env: CommandContext['env']): readonly string[] {
  return secretVariables.flatMap((name) => env[name] ?? []);
}

/** Variables of the `--env` file replace missing and empty ones. From here on, their secrets are hidden. */
export function environmentOf(
  file: string | undefined,
  { env, cwd }: Pick<CommandContext, 'env' | 'cwd'>,
  secrets: SecretSet,
): CommandContext['env'] {
  const added = file === undefined ? [] : Object.entries(readEnvFile(file, cwd)).filter(([name]) => !env[name]);
  // The AWS SDK looks nowhere else.
  for (const [name, value] of added) if (name.startsWith('AWS_')) process.env[name] = value;
  const whole = { ...env, ...Object.fromEntries(added) };
  secrets.hide(secretsIn(whole));
  return whole;
}

function readEnvFile(file: string, cwd: string): Readonly<Record<string, string | undefined>> {
  let text: string;
  let found: Stats;
  try {
    found = statSync(resolve(cwd, file));
    text = readFileSync(resolve(cwd, file), 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new LeadstreamError('E_USAGE', `--env ${file}: cannot be read${code}`);
  }
  // Anyone who can write the file could send the key elsewhere. Mode bits mean nothing for a pipe, nor for files on Windows.
  const isPlainFile = found.isFile() && process.platform !== 'win32';
  if (isPlainFile && (found.mode & 0o002) !== 0)
    throw new LeadstreamError('E_USAGE', `--env ${file}: everyone can write to it; make it private (chmod 600)`);
  // Node 20 reads an indented comment after a blank line as part of the next name.
  const lines = text.replaceAll('\r\n', '\n').replaceAll(/^[ \t]+#/gm, '#');
  // What `parseEnv` does with an invalid line depends on the version of Node, so lines are checked here, without comments and quoted
  // values.
  const unquoted = lines.replaceAll(/^#.*|(?<==[ \t]*)(['"`])[^]*?\1/gm, '');
  if (unquoted.split('\n').some((line) => !/^\s*(?:$|(?:export\s+)?[A-Za-z_][\w.-]*[ \t]*=)/.test(line)))
    throw new LeadstreamError('E_USAGE', `--env ${file}: a line is not NAME=value`);
  return parseEnv(lines);
}
