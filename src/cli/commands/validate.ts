import { amountOf } from '../../core/index.js';
import type { LintResult } from '../../index.js';
import { command, filesNamed, toggle, loadOptionsOf, pipelineOptions, textOrJson, type CommandContext } from '../command.js';
import { printTo } from '../console.js';
import { problemsLine, refusedExit } from '../failure.js';

export const validate = command(
  'validate <files..>',
  'Check pipeline files, without sending a request',
  (yargs) =>
    pipelineOptions(yargs)
      .positional('files', { type: 'string', array: true, demandOption: true, describe: 'Pipeline files (YAML)' })
      .option('env-check', { ...toggle, describe: 'Require the variables and files that the pipelines take from the environment' })
      .option('strict', { ...toggle, describe: 'Treat warnings as errors' })
      .option('format', { ...textOrJson, describe: 'json prints one document on stdout' })
      .example('$0 validate pipelines/*.yaml', 'needs no credentials')
      .example('$0 validate nightly.yaml --env-check --env nightly.env', 'checks on the machine that will run it')
      .example('$0 validate "pipelines/**/*.yaml" --strict --format json', 'for continuous integration'),
  async (arguments_, context) => {
    const { lintPipelines } = await import('../../index.js');
    const { console, cwd, stdout } = context;
    const { files: words, format, strict, envCheck } = arguments_;
    const options = { ...(await loadOptionsOf(arguments_, context)), stateDir: '.leadstream', strict, envCheck };
    const files: (LintResult & { readonly file: string })[] = [];
    for (const file of filesNamed(words, cwd)) {
      const result = await lintPipelines(file, options);
      files.push({ file, ...result });
      if (format === 'text') report(file, result, context);
    }
    const ok = files.every((file) => file.ok);
    if (format === 'text' && !ok) {
      const wrong = files.filter((file) => !file.ok);
      const codes = wrong.flatMap(({ findings }) => findings.filter(({ severity }) => severity === 'error').map(({ code }) => code));
      const words = console.format === 'json' ? [] : problemsLine(codes, codes.length, wrong.length);
      console.event('command.failed', { code: codes[0], exit: refusedExit }, words);
    }
    if (format === 'json') await printTo(stdout, `${console.redact(JSON.stringify({ ok, files }, undefined, 2))}\n`);
    return ok ? 0 : refusedExit;
  },
);

function report(file: string, { ok, findings, pipelines, unset }: LintResult, { console }: CommandContext): void {
  for (const { severity, code, line, column, message } of findings) {
    const place = `${file}:${line}:${column} ${message}`;
    const isRefused = severity === 'error';
    // Those who treat warnings as errors know them by their codes.
    const words = code.startsWith('W_') ? `${code}: ${place}` : place;
    console.event(isRefused ? 'file.refused' : 'file.warned', { code, file, line, column, ...(isRefused && { exit: refusedExit }) }, words);
  }
  if (!ok) return;
  for (const { name, from, steps, to, columns, notes = [] } of pipelines) {
    const chain = [from, ...steps, to.join(' + ')].join(' > ');
    console.log('info', `${file}: ${pipelines.length === 1 ? '' : `${name} `}ok, ${chain}, ${amountOf(columns.length, 'column')}`);
    for (const note of notes) console.log('info', `${file}: ${note}`);
  }
  if (unset.length > 0)
    console.log('info', `${file}: not set here: ${unset.join(', ')}; what depends on them was not checked (--env-check requires them)`);
}
