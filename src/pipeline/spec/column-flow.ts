import { deliveredColumns, withheldOf, type Collection, type Registry } from '../../collections/index.js';
import type { Column, Warning } from '../../core/index.js';
import type { ConfigPath } from '../../flow/index.js';
import type { PlanContext } from '../../steps/index.js';
import type { Path } from './document.js';
import type { BoundStep } from './planned.js';
import type { Problem, SpecWarning, Unset } from './references.js';
import type { StandIns } from './stand-ins.js';

/** The arguments of a problem after its path. */
type Said = Parameters<Problem> extends [unknown, ...infer Rest] ? Rest : never;

/** Receives the findings in a file. */
export interface Findings {
  readonly problem: Problem;
  readonly warn: SpecWarning;
  readonly unset: Unset;
  readonly standIns: StandIns;
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
    return [...deliveredColumns(this.setting.collection, this.setting.reveal), ...undeclared];
  }

  /** Follows columns through all steps. @param findings Receives problems that steps have with the arriving columns. */
  follow(source: readonly Column[], findings?: Findings): Followed {
    const gone = new Map<string, string>();
    const arriving = [source];
    let input = source;
    let isKnown = !findings || this.#isSourceKnown(findings.standIns);
    this.steps.forEach((step, index) => {
      const at = ['steps', index, ...(step ? [step.name] : [])];
      const telling = new Telling(at, findings, isKnown && !(step && isOwn(step) && findings?.standIns.within(at)));
      const output = step ? step.columns(input, { ...this.#setting, gone, ...telling.said }) : input;
      isKnown &&= telling.isKnown || step?.keepsRows === true;
      if (step) for (const { name } of input) gone.set(name, step.at);
      for (const { name } of output) gone.delete(name);
      arriving.push(output);
      input = output;
    });
    return { arriving, leaving: input, gone, isKnown };
  }

  /** Returns whether the columns of everything that is read are known. */
  #isSourceKnown(standIns: StandIns): boolean {
    const read = [this.setting.collection.name, ...this.steps.flatMap((step) => step?.joins?.with ?? [])];
    const deciding = read.flatMap((name) => [columnsAt(name, 'fields'), columnsAt(name, 'key')]);
    return [['reveal'], ...deciding].every((path) => !standIns.within(path));
  }

  get #setting() {
    const { collection, collections, reveal, hmacKey } = this.setting;
    return { collection, collections, hmacKey, withheld: withheldOf(collection, reveal) };
  }
}

/** Passes on the findings of a step, if its arriving columns are known. */
class Telling {
  #isMissing = false;

  /** @param at Path of the step; without its name if it is invalid. */
  constructor(
    private readonly at: Path,
    private readonly findings: Findings | undefined,
    private readonly isJudged: boolean,
  ) {}

  readonly said: Pick<PlanContext, 'problem' | 'unset' | 'warn'> = {
    problem: (path: ConfigPath, ...said: Said) => {
      const [, onKey] = said;
      if (onKey !== true && this.findings?.standIns.has([...this.at, ...path])) this.#isMissing = true;
      if (this.isJudged) this.findings?.problem([...this.at, ...path], ...said);
    },
    unset: (path: ConfigPath, variable: string, message: string) => this.findings?.unset([...this.at, ...path], variable, message),
    warn: (path: ConfigPath, warning: Warning) => {
      if (this.isJudged) this.findings?.warn([...this.at, ...path], warning);
    },
  };

  /** Whether the leaving columns follow from the arriving ones, that is, no stand-in affects them. */
  get isKnown(): boolean {
    const [, , name] = this.at;
    const standIns = this.findings?.standIns;
    if (!standIns?.within(this.at)) return true;
    return this.isJudged && name !== undefined && !this.#isMissing && !standIns.usedIn(this.at);
  }
}

/** Returns whether a step is a custom one, so that the effect of its options is unknown. */
function isOwn({ version }: BoundStep): boolean {
  return version !== undefined;
}

/** Returns the path at which a file declares the columns of its own collection. */
function columnsAt(collection: string, key: 'fields' | 'key'): Path {
  return ['collections', collection, key];
}
