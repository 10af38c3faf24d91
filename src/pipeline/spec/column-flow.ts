import { deliveredColumns, withheldOf, type Collection, type Registry } from '../../collections/index.js';
import type { Column, Warning } from '../../core/index.js';
import type { ConfigPath } from '../../flow/index.js';
import type { PlanContext } from '../../steps/index.js';
import type { Path } from './document.js';
import type { BoundStep } from './planned.js';
import type { Problem, SpecWarning, Unset } from './references.js';
import type { StandIns } from './stand-ins.js';

/** What is said of a place. */
type Said = Parameters<Problem> extends [unknown, ...infer Rest] ? Rest : never;

/** Takes what is found in a file. */
export interface Findings {
  readonly problem: Problem;
  readonly warn: SpecWarning;
  readonly unset: Unset;
  readonly standIns: StandIns;
}

/** What steps are told of a pipeline when they say which columns leave them. */
interface Setting {
  readonly collection: Collection;
  readonly collections: Registry;
  readonly reveal: readonly string[];
  readonly hmacKey: string | undefined;
}

/** Columns on their way through the steps. */
interface Followed {
  /** Those that arrive at each step, and last those that leave the chain. */
  readonly arriving: readonly (readonly Column[])[];
  readonly leaving: readonly Column[];
  /** The step that did not pass a field on, by the field. */
  readonly gone: ReadonlyMap<string, string>;
  /** Whether the columns that leave are known: no value that is unknown decides about them. */
  readonly isKnown: boolean;
}

/** Follows columns through the steps of a pipeline, some of which may be wrong by themselves. */
export class ColumnFlow {
  constructor(
    private readonly steps: readonly (BoundStep | undefined)[],
    private readonly setting: Setting,
  ) {}

  /** The columns of the source, with undeclared ones added. */
  columnsWith(undeclared: readonly Column[] = []): readonly Column[] {
    return [...deliveredColumns(this.setting.collection, this.setting.reveal), ...undeclared];
  }

  /** @param findings Takes what steps find wrong with columns that are new to them. */
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

  /** Whether the columns of what is read are known. */
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

/** Passes on what a step says, where the columns that arrive at it are known. */
class Telling {
  #isMissing = false;

  /** @param at Where the step is; without its name for one that is wrong by itself. */
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

  /** Whether the columns that leave the step follow from those that arrive: nothing stands in for what decides about them. */
  get isKnown(): boolean {
    const [, , name] = this.at;
    const standIns = this.findings?.standIns;
    if (!standIns?.within(this.at)) return true;
    return this.isJudged && name !== undefined && !this.#isMissing && !standIns.usedIn(this.at);
  }
}

/** A step of somebody's own, of which nobody knows what its options decide. */
function isOwn({ version }: BoundStep): boolean {
  return version !== undefined;
}

/** Where a file says what columns a collection of its own has. */
function columnsAt(collection: string, key: 'fields' | 'key'): Path {
  return ['collections', collection, key];
}
