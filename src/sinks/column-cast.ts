import { SinkError } from '../errors.js';
import type { Value } from '../collections/index.js';
import { Coded, memoOfTexts, perDictionary, putAt, Texts, valuesOf, type Cells } from '../columnar/index.js';
import type { Fault, OnError } from '../flow/index.js';
import type { Cast, QuickCast } from './cast.js';

/** What a column has to go through. */
export interface CastPlan {
  readonly cast: Cast;
  /** The quick way to what `cast` gives, where nothing else is to be looked at. */
  readonly quick: QuickCast | undefined;
  /** Whether well-formed texts without a NUL character stay as they are, with nothing else to look at. */
  readonly plain: boolean;
  readonly expectation: string;
  readonly field: string;
  readonly required: boolean;
  readonly onError: OnError;
  /** Why a text with a NUL character is refused; `undefined` when it is not. */
  readonly nul: string | undefined;
  readonly refuses: ((value: Value) => string | undefined) | undefined;
}

/** What becomes of a value: another one, which is `null` when there is a reason against it. */
interface Outcome {
  readonly value: Value;
  readonly reason: string | undefined;
}

/** A dictionary of values that were cast, and the reasons against some, by code. */
interface Dictionary {
  readonly values: Value[];
  readonly reasons: Map<number, string>;
}

/** Casts one column, page by page. What becomes of a text or of a dictionary is remembered over all of them, see `memoOfTexts`. */
export class ColumnCast {
  readonly #outcomeOf: (texts: Texts, row: number) => Outcome;
  readonly #dictionary: (coded: Coded) => Dictionary;

  constructor(
    private readonly plan: CastPlan,
    private readonly at: string,
    private readonly nulled: (field: string) => void,
  ) {
    this.#outcomeOf = memoOfTexts((text) => outcome(text, plan));
    this.#dictionary = perDictionary(
      (): Dictionary => ({ values: [], reasons: new Map() }),
      ({ values, reasons }, given, code) => {
        const { value, reason } = outcome(given, plan);
        if (reason !== undefined) reasons.set(code, reason);
        putAt(values, code, value);
      },
    );
  }

  /**
   * Casts the values of a page: arrays in place, texts into an array unless they stay, dictionaries into others.
   *
   * @param faults By row; where there is none yet, those of this column are added under `on_error: reject`.
   * @throws {SinkError} `E_SINK_VALUE` under `on_error: fail`.
   */
  take(cells: Texts | Coded | Value[], faults: Map<number, Fault>): Cells {
    if (cells instanceof Coded) return this.#coded(cells, faults);
    if (!(cells instanceof Texts)) return this.#values(cells, faults);
    return this.plan.plain ? cells : this.#texts(cells, faults);
  }

  #values(values: Value[], faults: Map<number, Fault>): readonly Value[] {
    const { plan } = this;
    const { plain, nul } = plan;
    for (let row = 0; row < values.length; row += 1) {
      const given = values[row] ?? null;
      if (plain && typeof given === 'string' && given.isWellFormed() && (nul === undefined || !given.includes('\0'))) continue;
      const { value, reason } = outcome(given, plan);
      values[row] = value;
      if (reason !== undefined) this.#note(reason, row, faults);
    }
    return values;
  }

  #texts(texts: Texts, faults: Map<number, Fault>): readonly Value[] {
    const { quick } = this.plan;
    const values = new Array<Value>(texts.length);
    for (let row = 0; row < values.length; row += 1) {
      const quickly = quick?.(texts, row);
      if (quickly !== undefined) {
        values[row] = quickly;
        continue;
      }
      const { value, reason } = this.#outcomeOf(texts, row);
      values[row] = value;
      if (reason !== undefined) this.#note(reason, row, faults);
    }
    return values;
  }

  #coded(coded: Coded, faults: Map<number, Fault>): Cells {
    let dictionary: Dictionary;
    try {
      dictionary = this.#dictionary(coded);
    } catch {
      // What fails a cast altogether, like a date that is none, does so in its row, after the faults of those before it.
      return this.#values([...valuesOf(coded)], faults);
    }
    const { values, reasons } = dictionary;
    for (let row = 0; reasons.size > 0 && row < coded.length; row += 1) {
      const reason = reasons.get(coded.codes[row] ?? 0);
      if (reason !== undefined) this.#note(reason, row, faults);
    }
    return new Coded(values, coded.codes);
  }

  #note(reason: string, row: number, faults: Map<number, Fault>): void {
    const { field, onError } = this.plan;
    if (onError === 'fail') throw new SinkError('E_SINK_VALUE', `${this.at}: field ${field} ${reason}`);
    if (onError === 'null') this.nulled(field);
    else if (!faults.has(row)) faults.set(row, { field, reason });
  }
}

function outcome(given: Value, plan: CastPlan): Outcome {
  const value = plan.cast(given);
  const reason = reasonAgainst(value, plan);
  return { value: value === undefined || reason !== undefined ? null : value, reason };
}

function reasonAgainst(value: Value | undefined, { expectation, required, nul, refuses }: CastPlan): string | undefined {
  if (value === undefined) return `is not ${expectation}`;
  if (required && (value === null || value === '')) return 'is empty, and identifies the row';
  if (nul !== undefined && typeof value === 'string' && value.includes('\0')) return nul;
  return value === null ? undefined : refuses?.(value);
}
