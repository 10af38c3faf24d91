import { SpecError, type Warning } from '../../core/index.js';
import { checkUsage, flag, object } from '../../options/index.js';
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
  readonly name: string;
  /** The collection that it reads, its steps and its sinks, by their names. */
  readonly from: string;
  readonly steps: readonly string[];
  readonly to: readonly string[];
  /** The columns that leave the last step. */
  readonly columns: readonly string[];
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
}

const own = object({ envCheck: flag, strict: flag }, [], 'open');

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
  const { envCheck = false, strict = false, ...loading } = options;
  checkLoading('lintPipelines', { file }, loading);
  try {
    return await linted(file, loading, { envCheck, strict });
  } catch (failure) {
    if (!(failure instanceof SpecError)) throw failure;
    const findings = failure.issues.map((issue) => ({ severity: 'error' as const, code: failure.code, ...issue }));
    return { ok: false, findings, pipelines: [], unset: [] };
  }
}

async function linted(
  file: string,
  options: LoadOptions,
  { envCheck, strict }: { readonly envCheck: boolean; readonly strict: boolean },
): Promise<LintResult> {
  const { checkDocuments } = await import('./check-documents.js');
  const { pipelines, issues, unset } = await checkDocuments(await fileText(file, options), file, options, {
    lenient: !envCheck,
    services: true,
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
    pipelines: pipelines.flatMap(({ name, plan }) => {
      if (name === undefined || plan === undefined) return [];
      const columns = plan.columns().map((column) => column.name);
      return {
        name,
        from: plan.collection.name,
        steps: plan.steps.map((step) => step.name),
        to: plan.sinks.map((sink) => sink.name),
        columns,
      };
    }),
    unset,
  };
}
