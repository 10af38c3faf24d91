import { resolve } from 'node:path';
import { SpecError, type Warning } from '../core/index.js';
import { getIn } from '../options/index.js';
import type { Checked } from './check.js';
import { fileText } from './file-text.js';
import type { LoadOptions } from './definitions.js';

/** A finding in a pipeline file. Lines and columns are 1-based. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  readonly code: SpecError['code'] | Warning['code'];
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** A pipeline of a file, as far as it can be determined. */
export interface LintedPipeline {
  /** As written in the file, if references in it are not set here. */
  readonly name: string;
  /** The names of the collection that it reads, of its steps and of its sinks. */
  readonly from: string;
  readonly steps: readonly string[];
  readonly to: readonly string[];
  /** The columns that leave the last step. */
  readonly columns: readonly string[];
  /** The absolute paths that it writes, including rejects, with day and run id in braces. */
  readonly writes: readonly string[];
  /** Whether it prints rows on stdout. */
  readonly prints: boolean;
}

/** The result of checking a pipeline file. */
export interface LintResult {
  /** Whether there are no errors. */
  readonly ok: boolean;
  /** Errors and warnings, in the order of the file. */
  readonly findings: readonly Finding[];
  readonly pipelines: readonly LintedPipeline[];
  /** References of the file that are not set: names of variables, and `file:PATH`. */
  readonly unset: readonly string[];
}

/** How a pipeline file is checked. */
export interface LintOptions extends LoadOptions {
  /** Whether references must be set. Default `false`: values that depend on unset ones are not checked. */
  readonly envCheck?: boolean;
  /** Whether warnings are errors. Default `false`. */
  readonly strict?: boolean;
}

/**
 * Checks a pipeline file without running it, even if the credentials are not available, as in continuous integration. Problems of the file are in
 * the result.
 *
 * @throws {LeadstreamError} `E_USAGE` for custom steps or sinks whose names are taken.
 *
 * @example
 * const { ok, findings } = await lintPipelines('pipelines/leads-enriched.yaml', { strict: true });
 * // findings: [{ severity: 'error', code: 'E_SPEC_INVALID', message: "unknown step 'filtre', …", line: 7, column: 5 }]
 */
export async function lintPipelines(file: string, options: LintOptions = {}): Promise<LintResult> {
  const { envCheck = false, strict = false, ...loading } = options;
  try {
    return await resultOf(file, loading, { envCheck, strict });
  } catch (failure) {
    if (!(failure instanceof SpecError)) throw failure;
    const findings = failure.issues.map((issue) => ({ severity: 'error' as const, code: failure.code, ...issue }));
    return { ok: false, findings, pipelines: [], unset: [] };
  }
}

async function resultOf(
  file: string,
  options: LoadOptions,
  { envCheck, strict }: Required<Pick<LintOptions, 'envCheck' | 'strict'>>,
): Promise<LintResult> {
  const { checkDocuments } = await import('./check-documents.js');
  const { pipelines, issues, unset } = await checkDocuments(await fileText(file, options), file, options, {
    lenient: !envCheck,
    path: resolve(options.cwd ?? process.cwd(), file),
  });
  const errors = issues.map(({ message, line, column, reference }): Finding => {
    return { severity: 'error', code: reference ? 'E_SPEC_REFERENCE' : 'E_SPEC_INVALID', message, line, column };
  });
  // With `service.strict`, a doubt is already among the errors.
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

/** Returns a name that is valid as written, but unknown because its references are not set. */
function unsetName({ document, issues }: Checked): string | undefined {
  const written = getIn(document.value, ['name']);
  return issues.length === 0 && typeof written === 'string' ? written : undefined;
}

/** Returns the names of the steps or sinks of a file, including those that cannot be planned. */
function namesIn({ document }: Checked, list: 'steps' | 'to'): readonly string[] {
  const entries = getIn(document.value, [list]);
  return Array.isArray(entries)
    ? entries.flatMap((entry: unknown) => (typeof entry === 'object' && entry !== null ? Object.keys(entry) : []))
    : [];
}
