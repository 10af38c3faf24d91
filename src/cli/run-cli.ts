import yargs from 'yargs';
import { demo } from './commands/demo.js';
import { doctor } from './commands/doctor.js';
import { explain } from './commands/explain.js';
import { explainRow } from './commands/explain-row.js';
import { fetch } from './commands/fetch.js';
import { init } from './commands/init.js';
import { preview } from './commands/preview.js';
import { run } from './commands/run.js';
import { schemaCommand } from './commands/schema.js';
import { shardCommands } from './commands/shards.js';
import { serve } from './commands/serve.js';
import { tableCommands } from './commands/tables.js';
import { test } from './commands/test.js';
import { validate } from './commands/validate.js';
import { catalogue, exitCodes, LeadstreamError, version } from '../core/index.js';
import { commonOptions, environmentOf, secretsIn, type CommandContext, type Runner } from './command.js';
import { createConsole, createSecrets, logFormatIn, printTo, type SecretSet } from './console.js';
import { reportFailure } from './failure.js';

export interface CliOptions extends Pick<CommandContext, 'env' | 'cwd' | 'stdout' | 'stderr' | 'signal'> {
  readonly secrets?: SecretSet;
}

const ofPipelines = [init, run, validate, doctor, explain, explainRow, preview, test];
const commands = [...ofPipelines, fetch, ...tableCommands, ...shardCommands, serve, schemaCommand, demo];

/** Never throws and never ends the process. @returns The exit code; 130 when `signal` stopped the work, whichever signal it was. */
export async function runCli(argv: readonly string[], options: CliOptions): Promise<number> {
  const { env, stdout, stderr, secrets = createSecrets(secretsIn(env)) } = options;
  // 1 until a command's work is done, or help is shown.
  let exit = 1;

  const runner: Runner = async ({ logFormat, logLevel, quiet, env: envFile }, work) => {
    const console = createConsole(logFormat, quiet ? 'error' : logLevel, secrets, stderr);
    try {
      exit = await work({ ...options, console, envFile, env: environmentOf(envFile, options, secrets) });
    } catch (error) {
      exit = reportFailure(console, error);
    }
  };

  try {
    // Without words, it prints the help, but did no work: not a success.
    const nothing = argv.length === 0;
    const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv;
    const { shown, isAnswered } = await parse(nothing ? ['--help'] : words, runner, Math.min(100, stdout.columns ?? 100));
    await printTo(nothing ? stderr : stdout, shown);
    if (nothing) return catalogue.E_USAGE.exit;
    const isCompletion = argv[0] === 'completion' || argv.includes('--get-yargs-completions');
    return isAnswered || isCompletion ? 0 : exit;
  } catch (error) {
    return reportFailure(createConsole(logFormatIn(argv), 'error', secrets, stderr), error);
  }
}

/** `shown` is the help or the version, which was requested if `isAnswered`. */
async function parse(argv: readonly string[], runner: Runner, width: number) {
  let shown = '';
  const parser = commands.reduce((parent, command) => command(parent, runner), commonOptions(yargs()));
  // It would format the help of a running command in advance, which takes longer than all the parsing.
  parser.getInternalMethods().getUsageInstance().cacheHelpMessage = () => {};
  const parsed = await parser
    .scriptName('leadstream')
    .usage('$0 <command>\n\nReads paged lead collections, joins them, and writes CSV, Parquet or stdout.')
    .parserConfiguration({ 'boolean-negation': false, 'dot-notation': false })
    .demandCommand(1, 'name a command')
    .strict()
    .updateStrings(sentences)
    .version(version)
    .help()
    .alias({ h: 'help', v: 'version' })
    .completion('completion', 'Print the script that completes commands and options in bash or zsh')
    .check((values) => valueProblem(values, argv, parser.getOptions()) ?? true, true)
    .epilogue(['Exit codes:', ...Object.entries(exitCodes).map(([exit, { meaning }]) => `${exit.padStart(5)}  ${meaning}`)].join('\n'))
    .wrap(width)
    .detectLocale(false)
    .exitProcess(false)
    .fail((message: string | null, error: unknown) => {
      if (error instanceof Error && error.name !== 'YError') throw error;
      throw new LeadstreamError('E_USAGE', usageProblem(message ?? 'wrong usage', argv, parser.getOptions()));
    })
    .parseAsync([...argv], {}, (_error: unknown, _parsed: unknown, output: string) => {
      if (output !== '') shown = `${output}\n`;
    });
  return { shown, isAnswered: parsed['help'] === true || parsed['version'] === true };
}

/** Names of options: all, those without a value, and those that may be repeated. */
interface Declared {
  readonly key: Readonly<Record<string, unknown>>;
  readonly alias: Readonly<Record<string, readonly string[]>>;
  readonly boolean: readonly string[];
  readonly array: readonly string[];
}

function namesIn({ key, alias }: Declared): readonly string[] {
  return [...Object.keys(key), ...Object.values(alias).flat()];
}

/** The parser's messages without what was typed, which may be a key: `%c` leaves it out. */
const sentences = {
  'Invalid values:': ' ',
  'Argument: %s, Given: %s, Choices: %s': '%s%c must be one of %s.',
  'Unknown argument: %s': { one: 'unknown command, or too many arguments%c', other: 'unknown command, or too many arguments%c' },
};

function usageProblem(message: string, words: readonly string[], declared: Declared): string {
  const given = words.flatMap((word) => /^(--?[a-z][\w.-]*)/i.exec(word)?.[1] ?? []);
  const known = namesIn(declared).map((name) => (name.length === 1 ? `-${name}` : `--${name}`));
  const unknown = given.find((option) => !known.includes(option));
  return unknown === undefined ? message.replaceAll(/\s+/g, ' ').trim() : `unknown option ${unknown}`;
}

function valueProblem(values: Readonly<Record<string, unknown>>, words: readonly string[], declared: Declared): string | undefined {
  if ([values['_']].flat().length > 1) return 'nothing after -- is read';
  for (const name of namesIn(declared)) {
    const isFlag = declared.boolean.includes(name);
    const value = values[name];
    const isBare = words.some((word, at) => word === `--${name}=` || (word === `--${name}` && /^(?:--|$)/.test(words[at + 1] ?? '')));
    if (Array.isArray(value) && !declared.array.includes(name)) return `--${name} is given twice`;
    if (isFlag && words.some((word) => word.startsWith(`--${name}=`))) return `--${name} takes no value`;
    if (!isFlag && isBare) return `--${name} needs a value`;
    if (Number.isNaN(value)) return `--${name} takes a number`;
  }
  return undefined;
}

declare module 'yargs' {
  interface Argv<T> {
    getOptions(): Declared;
    updateStrings(sentences: Readonly<Record<string, string | { readonly one: string; readonly other: string }>>): this;
    getInternalMethods(): {
      getUsageInstance(): { cacheHelpMessage: () => void };
    };
  }
}
