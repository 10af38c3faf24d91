import { deliveredColumns, withheldOf, type Collection, type Registry } from '../../collections/index.js';
import type { Column, Warning } from '../../core/index.js';
import type { ConfigPath } from '../../flow/index.js';
import type { PlanContext } from '../../steps/index.js';
import type { BoundStep } from './planned.js';
import type { Problem, SpecWarning, Unset } from './references.js';

/** What is said of a place. */
type Said = Parameters<Problem> extends [unknown, ...infer Rest] ? Rest : never;

/** Takes what is found in a file. */
export interface Findings {
  readonly problem: Problem;
  readonly warn: SpecWarning;
  readonly unset: Unset;
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
    this.steps.forEach((step, index) => {
      const output = step ? step.columns(input, this.#context(step, index, gone, findings)) : input;
      if (step) for (const { name } of input) gone.set(name, step.at);
      for (const { name } of output) gone.delete(name);
      arriving.push(output);
      input = output;
    });
    return { arriving, leaving: input, gone };
  }

  #context({ name }: BoundStep, index: number, gone: ReadonlyMap<string, string>, findings: Findings | undefined): PlanContext {
    const at = ['steps', index, name];
    const { collection, collections, reveal, hmacKey } = this.setting;
    return {
      ...{ collection, collections, hmacKey, withheld: withheldOf(collection, reveal) },
      gone,
      problem: (path: ConfigPath, ...said: Said) => findings?.problem([...at, ...path], ...said),
      unset: (path: ConfigPath, variable: string, message: string) => findings?.unset([...at, ...path], variable, message),
      warn: (path: ConfigPath, warning: Warning) => findings?.warn([...at, ...path], warning),
    };
  }
}
