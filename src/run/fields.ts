import { discoveredColumns, discoveredIn, type CollectionReader, type Findings } from '../source/index.js';
import { originalName, type Collection } from '../collections/index.js';
import { undeclaredColumn, type Column, type Row, type Warning } from '../core/index.js';
import type { RecordBatch } from '../vector/index.js';
import { batchOf, type Page } from '../flow/index.js';
import type { Published, UndeclaredField } from '../lake/index.js';
import type { FindingsReport } from './report.js';
import type { Plan } from '../plan/index.js';

/** What was read from the source. */
export interface SourceCount {
  readonly pages: number;
  readonly rows: number;
  /** The undeclared fields of page 1, in order. */
  readonly discovered: readonly Column[];
  /** Declared fields that no row had, by column; withheld fields are not considered. */
  readonly gone: readonly string[];
  /** Observes every page of the list as it arrives. */
  observe(page: Page): void;
}

/** Counts what is read, and notes which fields page 1 had and which no page has. */
export function countSource({ collection, findings }: CollectionReader<Row>, reveal: readonly string[]): SourceCount {
  const unseen = new Set(
    Object.entries(collection.fields)
      .filter(([name, { sensitivity }]) => sensitivity !== 'secret' || reveal.includes(name))
      .map(([name]) => name),
  );
  let pages = 0;
  let rows = 0;
  let discovered: readonly Column[] | undefined;
  return {
    get pages() {
      return pages;
    },
    get rows() {
      return rows;
    },
    get discovered() {
      return discovered ?? [];
    },
    get gone() {
      return rows === 0 ? [] : [...unseen].filter((name) => (findings.missing.get(name) ?? 0) >= rows);
    },
    observe: (page) => {
      const batch = batchOf(page);
      pages += 1;
      rows += batch.length;
      discovered ??= discoveredIn(batch, findings, reveal);
      for (const name of unseen) if (comes(name, batch)) unseen.delete(name);
    },
  };
}

/** Returns whether any row has a value in a column. */
function comes(name: string, batch: RecordBatch): boolean {
  const vector = batch.columns.get(name);
  for (let row = 0; vector && row < vector.length; row += 1) if (vector.value(row) !== null) return true;
  return false;
}

/**
 * Returns the undeclared fields that have a column from the start of a run: those recorded by the outputs, in their order, then the others of page 1. A
 * field that has been renamed is recognized by the service's name.
 *
 * @param earlier What is at the outputs.
 */
export function undeclaredColumns(
  collection: Collection,
  earlier: readonly (Pick<Published, 'undeclared'> | undefined)[],
  discovered: readonly Column[],
): readonly Column[] {
  const declared = Object.entries(collection.fields).flatMap(([name, field]) => [name, originalName(name, field)]);
  const now = new Map(discovered.map((column) => [column.original, column]));
  const names = new Set(discovered.map(({ name }) => name));
  const columns = new Map<string, Column>();
  for (const { name, original } of earlier.flatMap((published) => published?.undeclared ?? [])) {
    if (collection.unknown === 'secret' || declared.includes(name) || declared.includes(original) || columns.has(original)) continue;
    if (!now.has(original) && names.has(name)) continue;
    const gone = undeclaredColumn(name, original, collection.unknown);
    columns.set(original, now.get(original) ?? gone);
  }
  for (const column of discovered) if (!columns.has(column.original)) columns.set(column.original, column);
  return [...columns.values()];
}

/** Returns the undeclared fields that arrived too late for a column in this run, except withheld ones. */
export function lateColumns(findings: Findings, placed: readonly Column[]): readonly Column[] {
  const originals = new Set(placed.map(({ original }) => original));
  return discoveredColumns(findings).filter(({ original }) => !originals.has(original));
}

/** Returns columns of fields, each field once. */
export function withoutRepeats(columns: readonly Column[]): readonly Column[] {
  const byOriginal = new Map(columns.toReversed().map((column) => [column.original, column]));
  return columns.filter((column) => byOriginal.get(column.original) === column);
}

/** Returns what a manifest records about the undeclared fields of a run. */
export function remembered(columns: readonly Column[]): readonly UndeclaredField[] {
  return columns.map(({ name, original }) => ({ name, original }));
}

/** Returns the deviations of the rows from the collection's definition, for the report. */
export function findingsOf(findings: Findings, late: readonly Column[] = [], gone: readonly string[] = []): FindingsReport {
  return {
    unknown: Object.fromEntries([...findings.unknown].map(([field, { rows }]) => [field, rows])),
    late: late.map(({ original }) => original),
    gone,
    missing: Object.fromEntries(findings.missing),
    notText: Object.fromEntries(findings.notText),
  };
}

/** The findings about the fields of a source that cause warnings. */
export interface FieldNews {
  readonly collection: Collection;
  readonly findings: Findings;
  readonly gone: readonly string[];
  /** Undeclared fields that were known before the run. */
  readonly known: readonly UndeclaredField[];
  readonly late: readonly Column[];
  /** Returns the columns; called only if there is something to report. */
  flow(): LeavingColumns;
}

/** The columns that leave the last step. */
interface LeavingColumns {
  readonly leaving: readonly Column[];
  /** Columns once the late fields are included, as in the next run. */
  readonly next: readonly Column[];
  /** Columns without any undeclared field. */
  readonly declared: readonly Column[];
}

/**
 * Returns one warning for all declared fields that are gone, and one per undeclared field that is
 * new to the outputs; beyond twenty of these, only their number.
 */
export function fieldWarnings({ collection, findings, gone, known, late, flow }: FieldNews): readonly Warning[] {
  const knownOriginals = new Set(known.map(({ original }) => original));
  const fresh = [...findings.unknown].filter(([original]) => !knownOriginals.has(original));
  if (fresh.length === 0) return goneWarning(collection.name, gone);
  const { leaving, next, declared } = flow();
  return [
    ...goneWarning(collection.name, gone),
    ...fresh
      .slice(0, most)
      .map(([original, { column }]) => news(`the service has an undeclared field ${JSON.stringify(original)}; ${fate(column)}`)),
    ...(fresh.length > most ? [news(`the service has ${fresh.length - most} more undeclared fields`)] : []),
  ];

  function news(message: string): Warning {
    return { code: 'W_SOURCE_FIELD_NEW', message: `${collection.name}: ${message}` };
  }

  function fate({ name, original, sensitivity }: Column): string {
    if (sensitivity === 'secret') return `undeclared fields of ${collection.name} are withheld`;
    if (declared.some((column) => column.name.toLowerCase() === name.toLowerCase())) {
      return `the steps create their own column ${name}, so it is left out; rename that column to keep both`;
    }
    const isIn = (columns: readonly Column[]) => columns.some((column) => column.name === name && column.original === original);
    if (late.some((column) => column.original === original) && isIn(next)) {
      return 'it first appeared after page 1, so it becomes a column in the next run, in outputs with a manifest';
    }
    if (isIn(leaving)) return `it is the column ${name} from this run on`;
    return 'the steps leave it out';
  }
}

function goneWarning(collection: string, gone: readonly string[]): readonly Warning[] {
  if (gone.length === 0) return [];
  const [fields, columns] = gone.length === 1 ? ['field', 'its column is'] : ['fields', 'their columns are'];
  const message = `${collection}: no row had the declared ${fields} ${gone.join(', ')}; ${columns} null throughout`;
  return [{ code: 'W_SOURCE_FIELD_GONE', message }];
}

/** Maximum number of fields listed: a service whose field names are data can have any number of them. */
const most = 20;

/** The sources of a run's columns. */
interface ColumnSources {
  readonly plan: Plan;
  readonly source: SourceCount;
  readonly findings: Findings;
  /** What is at the outputs. */
  readonly earlier: readonly (Published | undefined)[];
  /** Undeclared fields that have a column in this run wherever they first appear. */
  readonly found: readonly Column[];
}

/** The columns of a run: fixed by what was read when this is created, and compared with what is read later. */
export class RunColumns {
  /** The undeclared fields that have a column in this run. */
  readonly #placed: readonly Column[];

  constructor(private readonly from: ColumnSources) {
    const { plan, source, earlier, found } = from;
    this.#placed = undeclaredColumns(plan.collection, earlier, withoutRepeats([...source.discovered, ...found]));
  }

  /** The columns that leave the last step. */
  get leaving(): readonly Column[] {
    return this.from.plan.columns(this.#placed);
  }

  /** The undeclared fields that have a column, then those that arrived too late for one. */
  get undeclared(): readonly Column[] {
    return [...this.#placed, ...this.#late];
  }

  /** The undeclared fields that arrived too late, and would otherwise have a column in an output. */
  get missed(): readonly Column[] {
    const { plan } = this.from;
    const before = this.leaving;
    return this.#late.filter((column) => {
      const after = plan.columns([...this.#placed, column]);
      return plan.sinks.some(({ writes }) => writes(after).length > writes(before).length);
    });
  }

  /** Returns warnings about the fields of the source; for a partial read, missing fields are not included. */
  warnings(partial: boolean): readonly Warning[] {
    const { plan, findings, earlier } = this.from;
    return fieldWarnings({
      collection: plan.collection,
      findings,
      gone: this.#gone(partial),
      known: earlier.flatMap((published) => published?.undeclared ?? []),
      late: this.#late,
      flow: () => ({ leaving: this.leaving, next: plan.columns(this.undeclared), declared: plan.columns() }),
    });
  }

  /** Returns the findings about the fields of the source, for a report. */
  findings(partial: boolean): FindingsReport {
    return findingsOf(this.from.findings, this.#late, this.#gone(partial));
  }

  get #late(): readonly Column[] {
    return lateColumns(this.from.findings, this.#placed);
  }

  #gone(partial: boolean): readonly string[] {
    return partial ? [] : this.from.source.gone;
  }
}
