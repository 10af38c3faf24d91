import { GateError, type Column, type Warning } from '../../core/index.js';
import type { Pipeline } from '../spec/pipeline.js';

/** What the attempts of a run before this one found out. */
export interface Attempt {
  /** Undeclared fields that have a column from the start; `undefined` when no attempt ended because of them. */
  readonly found: readonly Column[] | undefined;
  /** Whether one ended because of rows that came late. */
  readonly replayed: boolean;
  /** Pages that an interrupted run had spooled; what the run spooled itself is not among them. */
  readonly resumed: number;
}

/** The outputs have the day of an interrupted run, whose pages are not used: they need other paths. */
export class StaleDay extends Error {}

/** The run has to begin again, with the pages that are there. */
export abstract class BeginAgain extends Error {
  /** @param resumed Pages that an interrupted run had spooled. */
  constructor(
    message: string,
    protected readonly resumed: number,
  ) {
    super(message);
  }

  /**
   * What the next attempt knows.
   *
   * @throws {GateError} `E_GATE_CONSISTENCY` when the run cannot begin once more.
   */
  abstract next(before: Attempt | undefined, pipeline: Pipeline, warn: (warning: Warning) => void): Attempt;
}

/** Rows came to the other side of a join after the join had read it. */
export class LateRows extends BeginAgain {
  next(before: Attempt | undefined, { plan: { sinks } }: Pipeline): Attempt {
    if (before?.replayed || sinks.some(({ prints }) => prints)) throw new GateError('E_GATE_CONSISTENCY', this.message);
    return { found: before?.found, replayed: true, resumed: this.resumed };
  }
}

/** Undeclared fields came after the columns of the outputs were fixed, and are wanted in this run. */
export class NewFields extends BeginAgain {
  constructor(
    private readonly columns: readonly Column[],
    resumed: number,
  ) {
    const names = columns.slice(0, most).map(({ original }) => JSON.stringify(original));
    const more = columns.length > most ? [`${columns.length - most} more`] : [];
    super([...names, ...more].join(', '), resumed);
  }

  next(
    before: Attempt | undefined,
    { plan: { collection, stoppedBy }, spoolMaxAgeMs }: Pipeline,
    warn: (warning: Warning) => void,
  ): Attempt {
    const are = this.columns.length === 1 ? 'is' : 'are';
    const off = spoolMaxAgeMs === undefined ? 'spool is off' : stoppedBy && `a run that ${stoppedBy.at} may stop spools none`;
    const how = off === undefined ? 'with the pages that are spooled' : `and requests all pages once more, since ${off}`;
    const message = `${collection.name}: ${this.message} first came after page 1 and ${are} not declared; the run begins again ${how}`;
    warn({ code: 'W_RUN_RESTARTED', message });
    return { found: this.columns, replayed: before?.replayed ?? false, resumed: this.resumed };
  }
}

/** A service whose field names are data has as many of them as it likes. */
const most = 20;
