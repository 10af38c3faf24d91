import { createRequire } from 'node:module';
import yargs, { type Argv } from 'yargs';
import { addDemo } from './commands/demo.js';
import { addFetch } from './commands/fetch.js';
import { addRollback } from './commands/rollback.js';
import { addRun } from './commands/run.js';
import { addRuns } from './commands/runs.js';
import { addSchema } from './commands/schema.js';
import { addServe } from './commands/serve.js';
import { addValidate } from './commands/validate.js';
import { addVerify } from './commands/verify.js';
import { LeadstreamError } from '../errors.js';
import { createConsole } from './console.js';
import { environmentOf, secretsIn, type CommandContext, type Runner } from './context.js';
import { tellFailure } from './failure.js';
import { createSecrets, type Secrets } from './secrets.js';
import { print } from './streams.js';
import { logFormatIn, usageProblem } from './usage.js';

/** What a command line finds around it. */
export interface Surroundings extends Pick<CommandContext, 'env' | 'cwd' | 'stdout' | 'stderr' | 'signal'> {
  /** Values that messages must not show; those that commands learn of are added. */
  readonly secrets?: Secrets;
}

const commands = [addRun, addValidate, addFetch, addVerify, addRollback, addRuns, addServe, addSchema, addDemo];

/**
 * Runs a command line. It never throws and never ends the process: what goes wrong is told on stderr.
 *
 * @param argv The words behind the program's name.
 * @returns The exit code; 130 when `signal` stopped the work, whichever signal it was.
 *
 * @example
 * await runCli(['validate', 'p.yaml'], { env: {}, cwd: '/srv', stdout, stderr, signal });
 */
export async function runCli(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  const { env, stdout, stderr, secrets = createSecrets(secretsIn(env)) } = surroundings;
  // 0 is earned by a command's work, or by help.
  let exit = 1;

  const runner: Runner = async ({ logFormat, logLevel, quiet, envFile }, work) => {
    const console = createConsole(logFormat, quiet ? 'error' : logLevel, secrets, stderr);
    try {
      exit = await work({ ...surroundings, console, env: environmentOf(envFile, surroundings, secrets) });
    } catch (error) {
      exit = tellFailure(console, error);
    }
  };

  try {
    const { help, version, shown } = await parse(argv, runner, Math.min(100, stdout.columns ?? 100));
    await print(stdout, shown);
    return help || version ? 0 : exit;
  } catch (error) {
    return tellFailure(createConsole(logFormatIn(argv), 'error', secrets, stderr), error);
  }
}

/** Parses a command line and does its work. `shown` is the text of help or version. */
async function parse(argv: readonly string[], runner: Runner, width: number) {
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
  let shown = '';
  const parsed = await commands
    .reduce<Argv>((parser, add) => add(parser, runner), yargs())
    .scriptName('leadstream')
    .usage('$0 <command>\n\nReads paged lead collections, joins them and lands them as CSV, Parquet or on stdout.')
    .demandCommand(1, 'name a command')
    .strict()
    .recommendCommands()
    .version(version)
    .help()
    .epilogue('Exit codes: 0 published, 1 failed, 2 usage, 65 gate, 69 service, 75 lock, 77 credentials, 78 pipeline file, 130/143 signal.')
    .wrap(width)
    .detectLocale(false)
    .exitProcess(false)
    .fail((message: string | null, error: unknown) => {
      throw error instanceof Error && error.name !== 'YError'
        ? error
        : new LeadstreamError('E_USAGE', usageProblem(message ?? 'wrong usage', argv));
    })
    .parseAsync([...argv], {}, (_error: unknown, _parsed: unknown, output: string) => {
      if (output !== '') shown = `${output}\n`;
    });
  return { help: parsed['help'] === true, version: parsed['version'] === true, shown };
}
