import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Argv } from 'yargs';
import { LeadstreamError } from '../errors.js';
import { logLevels, type Console, type LogFormat, type LogLevel } from './console.js';

/** Options that every command takes. */
export interface CommonArguments {
  readonly quiet: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly envFile: string | undefined;
}

/** What a command works with. */
export interface CommandContext {
  readonly console: Console;
  /** The environment, with what the file of `--env-file` adds. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
}

/** Does the work of a command and gives its exit code. */
export type Work = (context: CommandContext) => Promise<number>;

/** Declares the options that every command takes. */
export function commonOptions<T>(yargs: Argv<T>) {
  return yargs
    .option('quiet', { type: 'boolean', default: false, describe: 'Say nothing but errors' })
    .option('log-level', { choices: logLevels, default: 'info' as const, describe: 'The most that is said' })
    .option('log-format', { choices: ['text', 'json'] as const, default: 'text' as const, describe: 'Form of messages on stderr' })
    .option('env-file', { type: 'string', describe: 'File of NAME=value lines that add to the environment' });
}

/** Runs a command with its console, environment and signals. */
export type Runner = (arguments_: CommonArguments, work: Work) => Promise<void>;

/** Environment variables that hold secrets. */
const secretNames = ['LEADSTREAM_REST_API_KEY', 'LEADSTREAM_AUTHORIZED_REST_API_KEY', 'LEADSTREAM_HMAC_KEY'];

/**
 * The environment of a command, with what the file of `--env-file` sets and the environment lacks or leaves empty; its
 * secrets are hidden from the console from here on.
 *
 * @throws {LeadstreamError} `E_USAGE` when the file of `--env-file` cannot be read.
 */
export function environmentOf(envFile: string | undefined, console: Console): CommandContext['env'] {
  const added = envFile === undefined ? [] : Object.entries(readEnvFile(envFile)).filter(([name]) => !process.env[name]);
  const env = { ...process.env, ...Object.fromEntries(added) };
  console.hide(secretNames.flatMap((name) => env[name] ?? []));
  return env;
}

function readEnvFile(file: string): Readonly<Record<string, string | undefined>> {
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch {
    throw new LeadstreamError('E_USAGE', `--env-file ${file}: cannot be read`);
  }
}
