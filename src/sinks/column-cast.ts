import type { DeclaredType, SinkError, Value } from '../core/index.js';
import { mapping, Unfit, type Mapped, type Vector } from '../vector/index.js';
import type { Fault, OnError } from '../flow/index.js';
import { strangeness, type Cast, type QuickCast } from './cast.js';
import type { SinkContext } from './sink.js';

/** What a column has to go through. */
export interface CastPlan {
  readonly cast: Cast;
  /** The quick way to what `cast` gives, where nothing else is to be looked at. */
  readonly quick: QuickCast | undefined;
  /** Whether well-formed texts without a NUL character stay as they are, with nothing else to look at. */
  readonly plain: boolean;
  readonly type: DeclaredType;
  readonly expectation: string;
  readonly field: string;
  readonly required: boolean;
  readonly onError: OnError;
  /** Why a text with a NUL character is refused; `undefined` when it is not. */
  readonly nul: string | undefined;
  readonly refuses: ((value: Value) => string | undefined) | undefined;
}

/** What becomes of values that do not fit. */
interface Noting {
  readonly faults: Map<number, Fault>;
  failure(row: number, fault: Fault): SinkError;
}

/** Casts one column, page by page. What becomes of a text or of a dictionary is remembered over all of them, see `mapping`. */
export class ColumnCast {
  readonly #cast: (vector: Vector) => Mapped;

  constructor(
    private readonly plan: CastPlan,
    private readonly told: Pick<SinkContext, 'nulled' | 'unfit'>,
  ) {
    this.#cast = mapping((value) => outcomeOf(value, plan), { quick: plan.quick, keepsBytes: plan.plain });
  }

  /**
   * Casts the values of a page.
   *
   * @param faults By row; where there is none yet, those of this column are added under `on_error: reject`.
   * @param failure What it fails with under `on_error: fail`.
   * @throws {SinkError} That failure.
   */
  take(given: Vector, faults: Map<number, Fault>, failure: (row: number, fault: Fault) => SinkError): Vector {
    const { vector, unfit } = this.#cast(given);
    for (let row = 0; unfit && row < given.length; row += 1) {
      const reason = unfit(row);
      if (reason !== undefined) this.#note({ field: this.plan.field, reason }, row, { faults, failure });
    }
    return vector;
  }

  #note(fault: Fault, row: number, { faults, failure }: Noting): void {
    const { field, onError } = this.plan;
    this.told.unfit?.(fault);
    if (onError === 'fail') throw failure(row, fault);
    if (onError === 'null') this.told.nulled(field);
    else if (!faults.has(row)) faults.set(row, fault);
  }
}

function outcomeOf(given: Value, plan: CastPlan): Value | Unfit {
  const value = plan.cast(given);
  const reason = reasonAgainst(value, given, plan);
  if (reason !== undefined) return new Unfit(reason);
  return value ?? null;
}

function reasonAgainst(
  value: Value | undefined,
  given: Value,
  { expectation, type, required, nul, refuses }: CastPlan,
): string | undefined {
  if (value === undefined) {
    const strange = strangeness(given);
    if (strange === undefined || (typeof given === 'number' && type !== 'text')) return `is not ${expectation}`;
    return `is ${strange}, and ${type === 'text' ? 'no text' : `not ${expectation}`}`;
  }
  if (required && (value === null || value === '')) return 'is empty, and identifies the row';
  if (nul !== undefined && typeof value === 'string' && value.includes('\0')) return nul;
  return value === null ? undefined : refuses?.(value);
}
