#!/usr/bin/env node
import { createRequire } from 'node:module';
import yargs, { type Argv } from 'yargs';
import { hideBin } from 'yargs/helpers';
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
import { environmentOf, type Runner } from './context.js';
import { tellFailure } from './failure.js';
import { boundGarbage } from './memory.js';
import { onSignals } from './signals.js';
import { outliveReaders } from './streams.js';
import { logFormatIn, usageProblem } from './usage.js';

// A chain that stalls or an event loop that runs dry must not look like success: 0 is earned.
process.exitCode = 1;
outliveReaders();
boundGarbage();

const words = hideBin(process.argv);
const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const runner: Runner = async ({ logFormat, logLevel, quiet, envFile }, work) => {
  const signals = onSignals();
  // Loaded here, and not with the program, so that help and usage errors come at once.
  const { createRedactor } = await import('../index.js');
  const console = createConsole(logFormat, quiet ? 'error' : logLevel, createRedactor);
  process.once('uncaughtException', (error) => {
    tellFailure(console, error);
    process.exit(1);
  });
  try {
    const exit = await work({ console, env: environmentOf(envFile, console), signal: signals.signal });
    // Work that was done before a signal came stays done; work that failed failed by the signal.
    process.exitCode = exit === 0 ? exit : (signals.exitCode ?? exit);
  } catch (error) {
    const exit = tellFailure(console, error);
    process.exitCode = signals.exitCode ?? exit;
  } finally {
    signals.release();
  }
  // Everything is cleaned up: a reader of stdout that takes its time must not hold a process that was told to end.
  if (signals.exitCode !== undefined) process.exit();
};

const commands = [addRun, addValidate, addFetch, addVerify, addRollback, addRuns, addServe, addSchema, addDemo];

const parser = commands
  .reduce<Argv>((parser, add) => add(parser, runner), yargs(words))
  .scriptName('leadstream')
  .usage('$0 <command>\n\nReads paged lead collections, joins them and lands them as CSV, Parquet or on stdout.')
  .demandCommand(1, 'name a command')
  .strict()
  .recommendCommands()
  .version(version)
  .help()
  .epilogue('Exit codes: 0 published, 1 failed, 2 usage, 65 gate, 69 service, 75 lock, 77 credentials, 78 pipeline file, 130/143 signal.')
  .wrap(Math.min(100, process.stdout.columns ?? 100))
  .detectLocale(false)
  .exitProcess(false)
  .fail((message: string | null, error: unknown) => {
    throw error instanceof Error && error.name !== 'YError'
      ? error
      : new LeadstreamError('E_USAGE', usageProblem(message ?? 'wrong usage', words));
  });

try {
  const parsed = await parser.parseAsync();
  if (parsed.help === true || parsed.version === true) process.exitCode = 0;
} catch (error) {
  process.exitCode = tellFailure(
    createConsole(logFormatIn(words), 'error', () => String),
    error,
  );
}
