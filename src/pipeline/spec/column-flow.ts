import { columnsOf, withheldOf, type Collection, type Registry } from '../../collections/index.js';
import type { Column } from '../../core/index.js';
import type { PlanContext } from '../../steps/index.js';
import type { Path } from './document.js';
import { dependsOn, isOpen } from './issue-list.js';
import type { BoundStep } from './planned.js';
import type { Problem, SpecWarning, Unset } from './references.js';

/** Receives the findings in a file. */
export interface Findings {
  readonly problem: Problem;
  readonly warn: SpecWarning;
  readonly unset: Unset;
  /** Paths of unknown values. */
  readonly unknown: readonly Path[];
}

/** What steps know about a pipeline when they determine their output columns. */
interface Setting {
  readonly collection: Collection;
  readonly collections: Registry;
  readonly reveal: readonly string[];
  readonly hmacKey: string | undefined;
}

/** Columns at each point of the steps. */
interface Followed {
  /** Those that arrive at each step, and finally those that leave the last one. */
  readonly arriving: readonly (readonly Column[])[];
  readonly leaving: readonly Column[];
  /** The step that dropped a field, by field. */
  readonly gone: ReadonlyMap<string, string>;
  /** Whether the leaving columns are known, that is, no unknown value affects them. */
  readonly isKnown: boolean;
}

/** Follows columns through the steps of a pipeline, some of which may be invalid. */
export class ColumnFlow {
  constructor(
    private readonly steps: readonly (BoundStep | undefined)[],
    private readonly setting: Setting,
  ) {}

  /** Returns the columns of the source, plus undeclared ones. */
  columnsWith(undeclared: readonly Column[] = []): readonly Column[] {
    return [...columnsOf(this.setting.collection, this.setting.reveal), ...undeclared];
  }

  /** Follows columns through all steps. @param findings Receives problems that steps have with the arriving columns. */
  follow(source: readonly Column[], findings?: Findings): Followed {
    const gone = new Map<string, string>();
    const arriving = [source];
    let input = source;
    let isKnown = !findings || !sourcePaths.some((path) => dependsOn(path, findings.unknown));
    this.steps.forEach((step, index) => {
      const at = ['steps', index, ...(step ? [step.name] : [])];
      const isJudged = isKnown && !isOpen(at, findings?.unknown ?? []);
      const output = step ? step.columns(input, { ...this.#setting, gone, ...tellingOf(at, findings, isJudged) }) : input;
      isKnown &&= isJudged || step?.keepsRows === true;
      if (step) for (const { name } of input) gone.set(name, step.at);
      for (const { name } of output) gone.delete(name);
      arriving.push(output);
      input = output;
    });
    return { arriving, leaving: input, gone, isKnown };
  }

  get #setting() {
    const { collection, collections, reveal, hmacKey } = this.setting;
    return { collection, collections, hmacKey, withheld: withheldOf(collection, reveal) };
  }
}

/** What decides about the columns of everything that is read. */
const sourcePaths: readonly Path[] = [['from'], ['reveal'], ['collections']];

/** Passes on the findings of a step. @param isJudged Whether the step and its columns are known. */
function tellingOf(at: Path, findings: Findings | undefined, isJudged: boolean): Pick<PlanContext, 'problem' | 'unset' | 'warn'> {
  return {
    problem: (path, ...said) => {
      if (isJudged) findings?.problem([...at, ...path], ...said);
    },
    unset: (path, ...said) => findings?.unset([...at, ...path], ...said),
    warn: (path, warning) => {
      if (isJudged) findings?.warn([...at, ...path], warning);
    },
  };
}
