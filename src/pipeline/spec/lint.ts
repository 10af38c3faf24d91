import { resolve } from 'node:path';
import { SpecError, type Warning } from '../../core/index.js';
import { checkUsage, filledText, flag, getIn, listOf, object, texts } from '../../options/index.js';
import type { Checked } from './check.js';
import { fileText } from './file-text.js';
import { checkLoading, type LoadOptions } from './load-options.js';

/** One thing that a check found in a pipeline file. Lines and columns are 1-based. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly code: SpecError['code'] | Warning['code'];
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** One pipeline of a file, as far as it can be followed. */
export interface LintedPipeline {
  /** As it stands in the file, where what it refers to is not set here. */
  readonly name: string;
  /** The collection that it reads, its steps and its sinks, by their names. */
  readonly from: string;
  readonly steps: readonly string[];
  readonly to: readonly string[];
  /** The columns that leave the last step. */
  readonly columns: readonly string[];
  /** The absolute paths that it writes, rejects included, with the day and the id of a run in braces. */
  readonly writes: readonly string[];
  /** Whether it prints rows on stdout. */
  readonly prints: boolean;
}

/** What a check found out about a pipeline file. */
export interface LintResult {
  /** Whether there is no error. */
  readonly ok: boolean;
  /** Errors and warnings, in the order of the file. */
  readonly findings: readonly Finding[];
  readonly pipelines: readonly LintedPipeline[];
  /** What the file asks of the environment that is not there: variables by their names, and `file:PATH`. */
  readonly unset: readonly string[];
}

/** How a pipeline file is checked. */
export interface LintOptions extends LoadOptions {
  /** Whether what the file asks of the environment must be there. Default false: what depends on it is not judged. */
  readonly envCheck?: boolean;
  /** Whether warnings are errors. Default false. */
  readonly strict?: boolean;
  /** Files that are run by the same command, before this one: a name that one of their pipelines has, a path that it writes, and stdout where it prints are errors. */
  readonly others?: readonly { readonly file: string; readonly pipelines: LintResult['pipelines'] }[];
}

const linted = object({ name: filledText, writes: texts(), prints: flag }, ['name', 'writes'], 'open');
const other = object({ file: filledText, pipelines: listOf(linted) }, ['file', 'pipelines'], 'open');
const own = object({ envCheck: flag, strict: flag, others: listOf(other) }, [], 'open');

/**
 * Checks a pipeline file without running it, and also where the credentials are not at hand, as in continuous integration. It throws for
 * wrong arguments alone: what is wrong with the file is in the result.
 *
 * @throws {LeadstreamError} `E_USAGE` for arguments that cannot be right.
 *
 * @example
 * const { ok, findings } = await lintPipelines('pipelines/leads-enriched.yaml', { strict: true });
 * // findings: [{ severity: 'error', code: 'E_SPEC_INVALID', message: "unknown step 'filtre', …", line: 7, column: 5 }]
 */
export async function lintPipelines(file: string, options: LintOptions = {}): Promise<LintResult> {
  checkUsage('lintPipelines', own, options);
  const { envCheck = false, strict = false, others = [], ...loading } = options;
  checkLoading('lintPipelines', { file }, loading);
  try {
    return await resultOf(file, loading, { envCheck, strict, others });
  } catch (failure) {
    if (!(failure instanceof SpecError)) throw failure;
    const findings = failure.issues.map((issue) => ({ severity: 'error' as const, code: failure.code, ...issue }));
    return { ok: false, findings, pipelines: [], unset: [] };
  }
}

async function resultOf(
  file: string,
  options: LoadOptions,
  { envCheck, strict, others }: Required<Pick<LintOptions, 'envCheck' | 'strict' | 'others'>>,
): Promise<LintResult> {
  const { checkDocuments } = await import('./check-documents.js');
  const { pipelines, issues, unset } = await checkDocuments(await fileText(file, options), file, options, {
    lenient: !envCheck,
    services: true,
    path: resolve(options.cwd ?? process.cwd(), file),
    others,
  });
  const errors = issues.map(({ message, line, column, reference }): Finding => {
    return { severity: 'error', code: reference ? 'E_SPEC_REFERENCE' : 'E_SPEC_INVALID', message, line, column };
  });
  // Of a service that is strict, a doubt is among the errors already.
  const doubts = pipelines
    .flatMap((checked) => checked.doubts)
    .filter((doubt) => !errors.some(({ message, line }) => line === doubt.line && message === doubt.message))
    .map((doubt): Finding => ({ severity: strict ? 'error' : 'warning', ...doubt }));
  const findings = [...errors, ...doubts].toSorted((a, b) => a.line - b.line || a.column - b.column);
  return {
    ok: findings.every(({ severity }) => severity === 'warning'),
    findings,
    pipelines: pipelines.flatMap((checked) => {
      const { plan, outputs } = checked;
      const name = checked.name ?? unsetName(checked);
      if (name === undefined || plan === undefined) return [];
      const columns = plan.columns().map((column) => column.name);
      return {
        name,
        from: plan.collection.name,
        steps: namesIn(checked, 'steps'),
        to: namesIn(checked, 'to'),
        columns,
        writes: outputs.flatMap(({ path }) => path ?? []),
        prints: outputs.some(({ path }) => path === undefined),
      };
    }),
    unset,
  };
}

/** A name that is right as far as it goes, and is not known here. */
function unsetName({ document, issues }: Checked): string | undefined {
  const written = getIn(document.value, ['name']);
  return issues.length === 0 && typeof written === 'string' ? written : undefined;
}

/** The steps or sinks of a file by their names, also those of which too little is known here to plan them. */
function namesIn({ document }: Checked, list: 'steps' | 'to'): readonly string[] {
  const entries = getIn(document.value, [list]);
  return Array.isArray(entries)
    ? entries.flatMap((entry: unknown) => (typeof entry === 'object' && entry !== null ? Object.keys(entry) : []))
    : [];
}
