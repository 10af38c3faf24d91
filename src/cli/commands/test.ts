import { amount, amountOf, catalogue, LeadstreamError, printable, SinkError } from '../../core/index.js';
import type { Difference, TestResult, TestResults } from '../../pipeline-tests/index.js';
import { command, filesNamed, loadPlugins, pluginOption, refuseUnknown, repeated, textOrJson } from '../command.js';
import { printTo } from '../console.js';
import { descriptionOf, refusedExit, reportFailure } from '../failure.js';

const testFailed = catalogue.E_TEST_FAILED.exit;

export const test = command(
  'test <files..>',
  'Run the tests in pipeline files, each against its own service',
  (yargs) =>
    yargs
      .option('plugin', pluginOption)
      .positional('files', { type: 'string', array: true, demandOption: true, describe: 'Pipeline files (YAML)' })
      .option('only', { ...repeated, describe: 'Name of a pipeline, or of a test, to run' })
      .option('format', { ...textOrJson, describe: 'json prints one document on stdout' })
      .example('$0 test pipelines/*.yaml', 'needs no service and no credentials')
      .example('$0 test nightly.yaml --only nightly-leads', 'the tests of one pipeline')
      .epilogue(`Exit codes: 0 when all tests passed, ${testFailed} when one failed, ${refusedExit} for an invalid file.`),
  async ({ files: words, only, format, plugin }, context) => {
    const { testPipelines } = await import('../../pipeline-tests/index.js');
    const { cwd, console, signal, stdout } = context;
    const own = await loadPlugins(plugin, context);
    const onResult = (file: string) => (result: TestResult) =>
      format === 'text' ? printTo(stdout, `${linesOf(file, result).join('\n       ')}\n`) : undefined;
    const documents: (Partial<TestResults> & { readonly file: string; readonly ok: boolean; readonly error?: string })[] = [];
    let broken = 0;
    for (const file of filesNamed(words, cwd)) {
      try {
        documents.push({ file, ...(await testPipelines(file, { ...own, cwd, only, signal, onResult: onResult(file) })) });
      } catch (failure) {
        if (signal.aborted) throw new LeadstreamError('E_RUN_ABORTED', 'the tests were stopped', { cause: failure });
        // If the results of one file cannot be printed, those of the others cannot either.
        if (failure instanceof SinkError) throw failure;
        broken ||= reportFailure(console, failure);
        documents.push({ file, ok: false, error: descriptionOf(failure).message });
      }
    }
    const tests = documents.flatMap((document) => document.tests ?? []);
    const skipped = documents.flatMap((document) => document.skipped ?? []);
    if (broken === 0) refuseNothing(tests, skipped, only);
    const failed = tests.filter(({ ok }) => !ok).length;
    // A problem in a file precedes a failed test.
    const exit = broken || (failed > 0 ? testFailed : 0);
    if (format === 'json') await printTo(stdout, `${JSON.stringify({ ok: exit === 0, files: documents }, undefined, 2)}\n`);
    const counts = `${amountOf(tests.length, 'test')}, ${amount(tests.length - failed)} passed, ${amount(failed)} failed`;
    console.log(exit === 0 ? 'info' : 'error', counts);
    return exit;
  },
);

/** Testing nothing must not look like success. */
function refuseNothing(tests: TestResults['tests'], skipped: TestResults['skipped'], only: readonly string[]): void {
  const known = [...tests, ...skipped].flatMap(({ pipeline, name }) => [pipeline, name]);
  if (known.length > 0) refuseUnknown('--only', 'test', only, [...new Set(known)]);
  if (tests.length === 0)
    throw new LeadstreamError('E_USAGE', 'there are no tests in these files; tests belong under tests: of a pipeline');
}

const most = 20;

function linesOf(file: string, { pipeline, name, line, ok, differences }: TestResult): readonly string[] {
  const head = `${ok ? 'ok  ' : 'FAIL'} ${file}:${line} ${pipeline}: ${name}`;
  const more = differences.length > most ? [`and ${differences.length - most} more`] : [];
  return [head, ...differences.slice(0, most).map(lineOf), ...more];
}

function lineOf({ at, expected, received }: Difference): string {
  if (at === 'setup') return `the test cannot run: ${printable(String(received))}`;
  return `${at}: expected ${shown(expected)}, received ${shown(received)}`;
}

/** Null columns are left out: most are null where a test gives only a few fields. */
function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  return printable(JSON.stringify(value, (name, inner: unknown) => (name !== '' && inner === null ? undefined : inner)));
}
