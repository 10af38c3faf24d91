import { readFileSync, statSync, type Stats } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Argv } from 'yargs';
import { LeadstreamError, secretVariables } from '../core/index.js';
import { logLevels, type Console, type LogFormat, type LogLevel, type Secrets } from './console.js';

/** Options that every command takes. */
export interface CommonArguments {
  readonly quiet: boolean;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly env: string | undefined;
}

/** A stream that may be a terminal, `columns` characters wide. */
export type OutputStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** What a command works with. */
export interface CommandContext {
  readonly console: Console;
  /** The environment, including the variables that the `--env` file adds. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of the `--env` file. */
  readonly envFile: string | undefined;
  /** Folder that relative paths resolve against. */
  readonly cwd: string;
  /** Where data goes. */
  readonly stdout: OutputStream;
  /** Where everything else goes. */
  readonly stderr: OutputStream;
  /** Aborted when the work must stop. */
  readonly signal: AbortSignal;
}

/** An option that may be given several times. */
export const repeated = { type: 'string', array: true, nargs: 1, default: [] as string[] } as const;

/** Does the work of a command and returns its exit code. */
export type Work = (context: CommandContext) => Promise<number>;

/**
 * Declares the options that every command takes.
 *
 * @param global Whether nested commands inherit them; a command that also declares them itself would list their choices twice.
 */
export function commonOptions<T>(yargs: Argv<T>, global = true) {
  return (
    yargs
      .option('quiet', { type: 'boolean', default: false, global, describe: 'Print errors only' })
      .option('log-level', {
        choices: logLevels,
        default: 'info' as const,
        global,
        describe: 'Most detailed level to print; debug reports every request, page, step, write and commit',
      })
      .option('log-format', {
        choices: ['text', 'json'] as const,
        default: 'text' as const,
        global,
        describe: 'Format of messages on stderr',
      })
      // Not --env-file: Node takes that one for itself, wherever it is on the command line.
      .option('env', { type: 'string', global, describe: 'File of NAME=value lines to add to the environment' })
  );
}

/** Runs a command with its console and environment. */
export type Runner = (arguments_: CommonArguments, work: Work) => Promise<void>;

/** Returns the secrets in an environment. */
export function secretsIn(env: CommandContext['env']): readonly string[] {
  return secretVariables.flatMap((name) => env[name] ?? []);
}

/**
 * Returns the environment of a command. Variables in the `--env` file add to it where it lacks them or leaves them empty. Hides its secrets from here on.
 *
 * @throws {LeadstreamError} `E_USAGE` when the `--env` file cannot be read, or everyone can write to it.
 */
export function environmentOf(
  file: string | undefined,
  { env, cwd }: Pick<CommandContext, 'env' | 'cwd'>,
  secrets: Secrets,
): CommandContext['env'] {
  const added = file === undefined ? [] : Object.entries(readEnvFile(file, cwd)).filter(([name]) => !env[name]);
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
  // Anyone who can write to the file could send the key to another address. Mode bits mean nothing for a pipe, nor for any file on Windows.
  const tells = found.isFile() && process.platform !== 'win32';
  if (tells && (found.mode & 0o002) !== 0)
    throw new LeadstreamError('E_USAGE', `--env ${file}: everyone can write to it; make it private (chmod 600)`);
  // Node 20 takes an indented comment after a blank line for a part of the next name.
  const lines = text.replaceAll('\r\n', '\n').replaceAll(/^[ \t]+#/gm, '#');
  // What `parseEnv` does with a line that it cannot read depends on the version of Node: the lines are checked here, without comments and quoted values.
  const unquoted = lines.replaceAll(/^#.*|(?<==[ \t]*)(['"`])[^]*?\1/gm, '');
  if (unquoted.split('\n').some((line) => !/^\s*(?:$|(?:export\s+)?[A-Za-z_][\w.-]*[ \t]*=)/.test(line)))
    throw new LeadstreamError('E_USAGE', `--env ${file}: a line is not NAME=value`);
  return parseEnv(lines);
}
