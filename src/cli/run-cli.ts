import yargs, { type Argv } from 'yargs';
import { addDemo } from './commands/demo.js';
import { addDoctor } from './commands/doctor.js';
import { addExplain } from './commands/explain.js';
import { addExplainRow } from './commands/explain-row.js';
import { addFetch } from './commands/fetch.js';
import { addInit } from './commands/init.js';
import { addPreview } from './commands/preview.js';
import { addRollback } from './commands/rollback.js';
import { addRun } from './commands/run.js';
import { addRuns } from './commands/runs.js';
import { addSchema } from './commands/schema.js';
import { addServe } from './commands/serve.js';
import { addTest } from './commands/test.js';
import { addValidate } from './commands/validate.js';
import { addVerify } from './commands/verify.js';
import { catalogue, exitCodes, LeadstreamError, version } from '../core/index.js';
import { painterFor } from './colour.js';
import { createConsole, createSecrets, type Secrets } from './console.js';
import { commonOptions, environmentOf, secretsIn, type CommandContext, type Runner } from './context.js';
import { reportFailure } from './failure.js';
import { print } from './streams.js';
import { logFormatIn, usageProblem, valueProblem, type Grammar } from './usage.js';

/** The surroundings of a command line. */
export interface Surroundings extends Pick<CommandContext, 'env' | 'cwd' | 'stdout' | 'stderr' | 'signal'> {
  /** Values that messages must not show. Commands add those that they learn of. */
  readonly secrets?: Secrets;
}

const commands = [
  addInit,
  addRun,
  addValidate,
  addDoctor,
  addExplain,
  addExplainRow,
  addPreview,
  addTest,
  addFetch,
  addVerify,
  addRollback,
  addRuns,
  addServe,
  addSchema,
  addDemo,
];

/**
 * Runs a command line. It never throws and never ends the process: failures are reported on stderr.
 *
 * @param argv The words after the program's name.
 * @returns The exit code; 130 when `signal` stopped the work, whichever signal it was.
 *
 * @example
 * await runCli(['validate', 'p.yaml'], { env: {}, cwd: '/srv', stdout, stderr, signal });
 */
export async function runCli(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  const { env, stdout, stderr, secrets = createSecrets(secretsIn(env)) } = surroundings;
  // 0 must be earned, by a command's work or by help.
  let exit = 1;

  const runner: Runner = async ({ logFormat, logLevel, quiet, env: envFile }, work) => {
    const console = createConsole(logFormat, quiet ? 'error' : logLevel, secrets, stderr, painterFor(stderr, env));
    try {
      exit = await work({ ...surroundings, console, envFile, env: environmentOf(envFile, surroundings, secrets) });
    } catch (error) {
      exit = reportFailure(console, error);
    }
  };

  try {
    // Without any words, it prints the help. It did no work, so this is not a success.
    const nothing = argv.length === 0;
    const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv;
    const { shown, isAnswered } = await parse(nothing ? ['--help'] : words, runner, Math.min(100, stdout.columns ?? 100));
    await print(nothing ? stderr : stdout, shown);
    if (nothing) return catalogue.E_USAGE.exit;
    const isCompletion = argv[0] === 'completion' || argv.includes('--get-yargs-completions');
    return isAnswered || isCompletion ? 0 : exit;
  } catch (error) {
    return reportFailure(createConsole(logFormatIn(argv), 'error', secrets, stderr, painterFor(stderr, env)), error);
  }
}

/** Parses a command line and does its work. `shown` is the text of the help or the version, which `isAnswered` says was requested. */
async function parse(argv: readonly string[], runner: Runner, width: number) {
  let shown = '';
  const parser = commands.reduce<Argv>((parent, add) => add(parent, runner), commonOptions(yargs(), false));
  // The parser forgets its commands once it enters one.
  const usages = Object.entries(parser.getInternalMethods().getCommandInstance().getCommandHandlers());
  // It would format the help of a running command in case it is requested, which takes longer than all the parsing.
  parser.getInternalMethods().getUsageInstance().cacheHelpMessage = () => {};
  /** The grammar with the options of the command that the parser is in; outside a command, the common ones. */
  const grammar = (): Grammar => {
    const { key, alias, array, boolean } = parser.getOptions();
    const named = Object.fromEntries(usages.map(([name, { original }]) => [name, original]));
    return { commands: named, options: [...Object.keys(key), ...Object.values(alias).flat()], flags: boolean, repeated: array };
  };
  const parsed = await parser
    .scriptName('leadstream')
    .usage('$0 <command>\n\nReads paged lead collections, joins them and writes them as CSV, Parquet or on stdout.')
    .parserConfiguration({ 'boolean-negation': false, 'dot-notation': false })
    .demandCommand(1, 'name a command')
    .strict()
    .version(version)
    .help()
    .alias({ h: 'help', v: 'version' })
    .completion('completion', 'Print the script that completes commands and options in bash or zsh')
    .check((values) => valueProblem(values, argv, grammar()) ?? true, true)
    .epilogue(['Exit codes:', ...Object.entries(exitCodes).map(([exit, { meaning }]) => `${exit.padStart(5)}  ${meaning}`)].join('\n'))
    .wrap(width)
    .detectLocale(false)
    .exitProcess(false)
    .fail((message: string | null, error: unknown) => {
      if (error instanceof Error && error.name !== 'YError') throw error;
      throw new LeadstreamError('E_USAGE', usageProblem(message ?? 'wrong usage', argv, grammar()));
    })
    .parseAsync([...argv], {}, (_error: unknown, _parsed: unknown, output: string) => {
      if (output !== '') shown = `${output}\n`;
    });
  return { shown, isAnswered: parsed['help'] === true || parsed['version'] === true };
}

/** Members of the parser that its types lack. */
declare module 'yargs' {
  interface Argv<T> {
    getOptions(): {
      readonly key: Readonly<Record<string, unknown>>;
      readonly alias: Readonly<Record<string, readonly string[]>>;
      readonly array: readonly string[];
      readonly boolean: readonly string[];
    };
    getInternalMethods(): {
      getCommandInstance(): { getCommandHandlers(): Readonly<Record<string, { readonly original: string }>> };
      getUsageInstance(): { cacheHelpMessage: () => void };
    };
  }
}
