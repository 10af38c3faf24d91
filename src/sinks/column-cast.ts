import type { DeclaredType, SinkError, Value } from '../core/index.js';
import { mapping, Unfit, type Mapped, type Vector } from '../vector/index.js';
import type { Fault, OnError } from '../flow/index.js';
import { strangeness, type Cast, type QuickCast } from './cast.js';
import type { SinkContext } from './sink.js';

/** How the values of a column are cast and checked. */
export interface CastPlan {
  readonly cast: Cast;
  /** Faster equivalent of `cast`, if no other check is needed. */
  readonly quick: QuickCast | undefined;
  /** Whether well-formed texts without a NUL character pass unchanged, without any other check. */
  readonly plain: boolean;
  readonly type: DeclaredType;
  readonly expectation: string;
  readonly field: string;
  readonly required: boolean;
  readonly onError: OnError;
  /** Why a text with a NUL character is refused; `undefined` if it is not. */
  readonly nul: string | undefined;
  readonly refuses: ((value: Value) => string | undefined) | undefined;
}

/** How values that do not fit are reported. */
interface Noting {
  readonly faults: Map<number, Fault>;
  failure(row: number, fault: Fault): SinkError;
}

/** Casts one column, page by page. Results for texts and dictionaries are cached across pages, see `mapping`. */
export class ColumnCast {
  readonly #cast: (vector: Vector) => Mapped;

  constructor(
    private readonly plan: CastPlan,
    private readonly told: Pick<SinkContext, 'nulled'>,
  ) {
    this.#cast = mapping((value) => outcomeOf(value, plan), { quick: plan.quick, keepsBytes: plan.plain });
  }

  /**
   * Casts the values of a page.
   *
   * @param faults By row. Under `on_error: reject`, faults of this column are added for rows that have none yet.
   * @param failure Creates the failure under `on_error: fail`.
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
    return `is ${strange}, not ${type === 'text' ? 'a text' : expectation}`;
  }
  if (required && (value === null || value === '')) return 'is empty, and identifies the row';
  if (nul !== undefined && typeof value === 'string' && value.includes('\0')) return nul;
  return value === null ? undefined : refuses?.(value);
}
