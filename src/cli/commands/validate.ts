import { amountOf } from '../../core/index.js';
import type { Argv } from 'yargs';
import type { LintResult } from '../../index.js';
import { problemsLine, refusedExit } from '../failure.js';
import { loadOptionsOf, pipelineOptions, type PipelineArguments } from '../pipeline-options.js';
import type { CommandContext, Runner } from '../context.js';
import { print } from '../streams.js';

interface ValidateArguments extends PipelineArguments {
  readonly files: readonly string[];
  readonly format: 'text' | 'json';
  readonly strict: boolean;
  readonly envCheck: boolean;
}

/** Adds `leadstream validate`. */
export function addValidate(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'validate <files..>',
    'Check the pipelines of files without a request',
    (options) =>
      pipelineOptions(options)
        .positional('files', { type: 'string', array: true, demandOption: true, describe: 'Pipeline files (YAML), or patterns in quotes' })
        .option('env-check', {
          type: 'boolean',
          default: false,
          describe: 'Require the variables and files that the pipelines take from the environment',
        })
        .option('strict', { type: 'boolean', default: false, describe: 'Treat warnings as errors' })
        .option('format', { choices: ['text', 'json'] as const, default: 'text' as const, describe: 'json prints one document on stdout' })
        .example('$0 validate pipelines/*.yaml', 'needs no credentials')
        .example('$0 validate nightly.yaml --env-check --env nightly.env', 'checks on the machine that will run it')
        .example('$0 validate "pipelines/**/*.yaml" --strict --format json', 'for continuous integration'),
    (arguments_) => runner(arguments_, (context) => validate(arguments_, context)),
  );
}

async function validate(arguments_: ValidateArguments, context: CommandContext): Promise<number> {
  const { lintPipelines } = await import('../../index.js');
  const { filesNamed } = await import('../files.js');
  const { refuseClashes, refuseWritingOver } = await import('../run-files.js');
  const { console, cwd, stdout } = context;
  const { files: words, format, strict, envCheck } = arguments_;
  const options = { ...(await loadOptionsOf(arguments_, context)), stateDir: '.leadstream', strict, envCheck };
  const files: (LintResult & { readonly file: string })[] = [];
  for (const file of await filesNamed(words, cwd)) {
    const result = await lintPipelines(file, options);
    files.push({ file, ...result });
    if (format === 'text') tell(file, result, context);
  }
  const ok = files.every((file) => file.ok);
  if (ok) {
    // A run of the same files would refuse these.
    refuseClashes(files);
    refuseWritingOver(
      files.flatMap(({ pipelines }) => pipelines),
      files.map(({ file }) => ({ what: 'the pipeline file', file })),
      cwd,
    );
  }
  if (format === 'text' && !ok) sumUp(files, context);
  if (format === 'json') await print(stdout, `${console.redact(JSON.stringify({ ok, files }, undefined, 2))}\n`);
  return ok ? 0 : refusedExit;
}

/** Sums up all problems. */
function sumUp(files: readonly LintResult[], { console }: CommandContext): void {
  const wrong = files.filter(({ ok }) => !ok);
  const codes = wrong.flatMap(({ findings }) => findings.filter(({ severity }) => severity === 'error').map(({ code }) => code));
  const words = console.format === 'json' ? [] : problemsLine(codes, codes.length, wrong.length);
  console.event('command.failed', { code: codes[0], exit: refusedExit }, words);
}

/** Reports what was found in a file: problems where editors look for them, and the chains of a valid file. */
function tell(file: string, { ok, findings, pipelines, unset }: LintResult, { console }: CommandContext): void {
  for (const { severity, code, line, column, message } of findings) {
    const place = `${file}:${line}:${column} ${message}`;
    const isRefused = severity === 'error';
    // People who treat warnings as errors recognize them by their codes.
    const words = code.startsWith('W_') ? `${code}: ${place}` : place;
    console.event(isRefused ? 'file.refused' : 'file.warned', { code, file, line, column, ...(isRefused && { exit: refusedExit }) }, words);
  }
  if (!ok) return;
  for (const { name, from, steps, to, columns } of pipelines) {
    const chain = [from, ...steps, to.join(' + ')].join(' > ');
    console.log('info', `${file}: ${pipelines.length === 1 ? '' : `${name} `}ok, ${chain}, ${amountOf(columns.length, 'column')}`);
  }
  if (unset.length > 0)
    console.log('info', `${file}: not set here: ${unset.join(', ')}; what depends on them was not checked (--env-check requires them)`);
}
