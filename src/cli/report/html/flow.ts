import { amount, counted, origins, outcomes } from '../../../core/index.js';
import type { PipelineDocument } from '../document.js';

/** The flow of rows from the source to a destination, as a picture shows it. */
export interface Flow {
  readonly nodes: readonly FlowNode[];
  readonly links: readonly { readonly source: string; readonly target: string; readonly value: number }[];
}

export interface FlowNode {
  /** Unique in the flow. */
  readonly name: string;
  readonly label: string;
  /** Rows on the way, rows that left it, and rows that were added. */
  readonly kind: 'way' | 'lost' | 'added';
}

/** Returns the flow of rows into the first sink; the table of row counts has the others. Leaves out steps that do not change the number of rows. */
export function flowOf(document: PipelineDocument): Flow | undefined {
  const { collection, read = 0, consistency, steps = [], sinks: [sink] = [], status } = document;
  if (collection === undefined || read === 0) return undefined;
  const flow = new FlowBuilder(`${collection}`, read);
  if (consistency) {
    flow.pass('whole list', [['repaired', consistency.repaired]], [['read twice', consistency.duplicates]]);
  }
  for (const { at, tally } of steps) flow.pass(at, counted(tally, origins), counted(tally, outcomes));
  if (!sink) return flow.end([['in progress,\nnot published', undefined]]);
  const { unchanged, rejected, written } = sink.books;
  const before = steps.reduce((sum, { tally }) => sum + tally.rejected, 0);
  const last = status === 'published' ? `written by ${sink.at}` : `prepared by ${sink.at},\nnot published`;
  return flow.end([
    [last, written],
    ['unchanged', unchanged],
    [`rejected by ${sink.at}`, rejected - before],
  ]);
}

/** Rows that were added or lost in one way. */
type Counted = readonly [word: string, rows: number];

class FlowBuilder {
  readonly #nodes: FlowNode[] = [];
  readonly #links: Flow['links'][number][] = [];
  #last: string;

  constructor(
    start: string,
    private rows: number,
  ) {
    this.#last = this.#node(start, rows, 'way');
  }

  /** Moves the rows to a place where some are added and some leave. */
  pass(at: string, added: readonly Counted[], lost: readonly Counted[]): void {
    const [more, less] = [added.filter(([, rows]) => rows > 0), lost.filter(([, rows]) => rows > 0)];
    if (more.length + less.length === 0) return;
    const through = this.rows + more.reduce((sum, [, rows]) => sum + rows, 0);
    const node = this.#node(at, undefined, 'way');
    this.#link(this.#last, node, this.rows);
    for (const [word, rows] of more) this.#link(this.#node(word, rows, 'added'), node, rows);
    for (const [word, rows] of less) this.#link(node, this.#node(word, rows, 'lost'), rows);
    this.rows = Math.max(0, through - less.reduce((sum, [, rows]) => sum + rows, 0));
    this.#last = node;
  }

  /** @param ends Where the rows end up. An end without a number gets all that are left. */
  end(ends: readonly (readonly [string, number | undefined])[]): Flow {
    ends.forEach(([word, rows = this.rows], index) => {
      if (rows > 0) this.#link(this.#last, this.#node(word, rows, index === 0 ? 'way' : 'lost'), rows);
    });
    return { nodes: this.#nodes, links: this.#links };
  }

  #node(word: string, rows: number | undefined, kind: FlowNode['kind']): string {
    const name = `${this.#nodes.length}`;
    this.#nodes.push({ name, label: rows === undefined ? word : `${word}\n${amount(rows)}`, kind });
    return name;
  }

  #link(source: string, target: string, value: number): void {
    if (value > 0) this.#links.push({ source, target, value });
  }
}
