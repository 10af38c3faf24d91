import { tmpdir } from 'node:os';
import { from, lastValueFrom, of, reduce } from 'rxjs';
import { LeadstreamError, type Column, type Row, type Value } from '../../../core/index.js';
import { batchOf, emptyTally, pageOf, type Fault, type Tally } from '../../../flow/index.js';
import type { Service } from '../../../source/index.js';
import type { RowCondition } from '../../../steps/index.js';
import { batchFromRows } from '../../../vector/index.js';
import type { Pipeline } from '../../spec/pipeline.js';
import type { PlannedStep } from '../../spec/planned.js';
import { asChecked } from '../as-checked.js';
import type { RowPassage } from './explanation.js';
import { columnsWith, type FieldView } from './fields.js';
import { streamOf } from './find-record.js';
import { JoinTrace } from './join-trace.js';

/** The result of a step for rows. */
export interface Passed {
  readonly passage: RowPassage;
  readonly rows: readonly Row[];
}

/** Passes rows through steps one after another, and reports the result of each. */
export class Passages {
  constructor(
    private readonly pipeline: Pipeline,
    private readonly service: Service,
    private readonly view: FieldView,
    private readonly firstStart: Date,
  ) {}

  /** @param output The declared columns that leave the step. */
  async through(step: PlannedStep, rows: readonly Row[], output: readonly Column[]): Promise<Passed> {
    if (rows.length === 0) return { passage: this.#passage(step, [], [], output, { outcome: 'not reached' }), rows };
    const tally = emptyTally();
    const faults: Fault[] = [];
    const trace = step.joins && new JoinTrace(rows, { joined: step.joins, input: step.input, view: this.view });
    const counted = () => ({ join: trace?.result(tally.missed), nulled: tally.nulled, rejected: faults.length });
    try {
      const out = await this.#run(step, rows, { tally, faults, trace });
      const [first] = faults;
      const rejected = first && { outcome: 'rejected' as const, reason: `field ${first.field} ${first.reason}` };
      const why = () => reasonOf(step, tally, trace, rows[0] ? this.#conditions(step, rows[0]) : []);
      const came =
        out.length > 0
          ? { outcome: 'passed' as const, reason: rejected?.reason }
          : (rejected ?? { outcome: 'dropped' as const, reason: why() });
      return { passage: this.#passage(step, rows, out, output, { ...came, ...counted() }), rows: out };
    } catch (error) {
      if (!(error instanceof LeadstreamError) || error.code === 'E_RUN_ABORTED' || error.code.startsWith('E_SOURCE_')) throw error;
      const reason = `${error.code}: ${error.message}`;
      return { passage: this.#passage(step, rows, [], output, { outcome: 'failed', reason, ...counted() }), rows: [] };
    }
  }

  async #run(
    step: PlannedStep,
    rows: readonly Row[],
    seen: { tally: Tally; faults: Fault[]; trace: JoinTrace | undefined },
  ): Promise<readonly Row[]> {
    const { plan, onError, hmacKey } = this.pipeline;
    const operator = step.open({
      at: step.at,
      tally: seen.tally,
      reject: (_row, fault) => void seen.faults.push(fault),
      collection: plan.collection,
      collections: plan.collections,
      input: step.input,
      onError,
      firstStart: this.firstStart,
      hmacKey,
      // A few rows never need it.
      scratch: tmpdir(),
      read: (collection, reveal) => {
        const pages$ = asChecked(this.pipeline, collection, streamOf(this.service, collection, reveal).with({ consistency: 'off' }).pages$);
        return seen.trace ? seen.trace.pages(pages$) : pages$;
      },
      lookup: (collection, reveal) => {
        const reader = streamOf(this.service, collection, reveal);
        seen.trace?.looksUp();
        const records = (id: string) => from(reader.find(id));
        const find = (id: string) => (seen.trace ? seen.trace.records(id, records(id)) : records(id));
        return { find, concurrency: 1, counts: { requests: 0, hits: 0, misses: 0 } };
      },
    });
    const page = pageOf(1, batchFromRows(rows), { release: () => {} });
    const out$ = of(page).pipe(
      operator,
      reduce((all: readonly Row[], each) => [...all, ...batchOf(each).rows()], []),
    );
    return lastValueFrom(out$);
  }

  #conditions(step: PlannedStep, row: Row): readonly RowCondition[] {
    return step.conditions({ input: step.input, firstStart: this.firstStart }, row);
  }

  #passage(
    step: PlannedStep,
    rows: readonly Row[],
    out: readonly Row[],
    output: readonly Column[],
    came: Pick<RowPassage, 'outcome'> & Partial<Pick<RowPassage, 'reason' | 'join' | 'nulled' | 'rejected'>>,
  ): RowPassage {
    const { at, input, expressions, alone } = step;
    const [before, after] = [columnsWith(input, rows), columnsWith(output, out)];
    const words = new Set(expressions.flatMap((text) => text.match(/\w+/g) ?? []));
    const [last] = out;
    const first = last ? nearestTo(last, rows) : rows[0];
    return {
      at,
      outcome: came.outcome,
      reason: came.reason,
      arrived: rows.length,
      rejected: came.rejected ?? 0,
      expressions,
      conditions: first ? this.#conditions(step, first) : [],
      used: first
        ? this.view.fields(
            before.filter(({ name }) => words.has(name)),
            first,
          )
        : [],
      join: came.join,
      changed: first && last ? this.#changes(before, first, after, last) : [],
      removed: last ? before.map(({ name }) => name).filter((name) => !after.some((column) => column.name === name)) : [],
      rows: out.length,
      nulled: came.nulled ?? 0,
      alone,
    };
  }

  #changes(before: readonly Column[], row: Row, after: readonly Column[], made: Row): RowPassage['changed'] {
    return after.flatMap((column) => {
      const known = before.find(({ name }) => name === column.name);
      const [was, is] = [row[column.name] ?? null, made[column.name] ?? null];
      const isSame = known !== undefined && isEqual(was, is);
      if (isSame) return [];
      return [{ ...this.view.field(column, made), before: known && this.view.value(was, known) }];
    });
  }
}

function reasonOf({ name, joins }: PlannedStep, tally: Tally, trace: JoinTrace | undefined, conditions: readonly RowCondition[]): string {
  if (name === 'filter') return ['the condition is not true for this row', ...untrueIn(conditions)].join(': ');
  if (joins && trace && tally.unmatched > 0)
    return `an inner join drops rows without a match: ${trace.result(tally.missed).miss ?? 'none'}`;
  if (tally.duplicates > 0) return 'it is a duplicate';
  if (tally.filtered > 0) return `${name} leaves it out`;
  return 'it produces no rows';
}

function untrueIn(conditions: readonly RowCondition[]): readonly string[] {
  const untrue = conditions.filter(({ value, problem }) => value !== true && problem === undefined);
  return untrue.length === 0 ? [] : [untrue.map(({ expression, value }) => `${expression} is ${value}`).join(', ')];
}

/** Returns the row that a row was made from: the first with most of its values. Earlier rows may have been dropped. */
function nearestTo(made: Row, rows: readonly Row[]): Row | undefined {
  const alike = rows.map((row) => Object.entries(row).filter(([name, value]) => isEqual(value, made[name] ?? null)).length);
  return rows[alike.indexOf(Math.max(...alike))];
}

function isEqual(a: Value, b: Value): boolean {
  return a === b || (a instanceof Date && b instanceof Date && a.getTime() === b.getTime());
}
