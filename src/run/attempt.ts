import { GateError, type Column, type Warning } from '../core/index.js';
import type { Pipeline } from '../plan/index.js';

/** What previous attempts of a run have found. */
export interface Attempt {
  /** Undeclared fields that have a column from the start; `undefined` if no attempt ended because of them. */
  readonly found: readonly Column[] | undefined;
  /** Whether an attempt ended because of late rows. */
  readonly replayed: boolean;
  /** Number of pages spooled by an interrupted run; those spooled by this run are not included. */
  readonly resumed: number;
}

/** Thrown if the paths of the outputs contain the day of an interrupted run whose pages are not used: other paths are needed. */
export class StaleDay extends Error {}

/** Thrown if the run must start again, with the pages that are available. */
export abstract class BeginAgain extends Error {
  /** @param resumed Number of pages spooled by an interrupted run. */
  constructor(
    message: string,
    protected readonly resumed: number,
  ) {
    super(message);
  }

  /**
   * Returns what the next attempt starts with.
   *
   * @throws {GateError} `E_GATE_CONSISTENCY` if the run cannot start again.
   */
  abstract next(before: Attempt | undefined, pipeline: Pipeline, warn: (warning: Warning) => void): Attempt;
}

/** Rows were added to the other side of a join after the join had read it. */
export class LateRows extends BeginAgain {
  next(before: Attempt | undefined, { plan: { sinks } }: Pipeline): Attempt {
    if (before?.replayed || sinks.some(({ prints }) => prints)) throw new GateError('E_GATE_CONSISTENCY', this.message);
    return { found: before?.found, replayed: true, resumed: this.resumed };
  }
}

/** Undeclared fields arrived after the columns of the outputs were fixed, and must be included in this run. */
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
    const off = spoolMaxAgeMs === undefined ? 'spool is off' : stoppedBy && `a run that ${stoppedBy.at} may stop does not spool`;
    const how = off === undefined ? 'with the spooled pages' : `and requests all pages again, because ${off}`;
    const message = `${collection.name}: ${this.message} first appeared after page 1 and ${are} not declared; the run starts again ${how}`;
    warn({ code: 'W_RUN_RESTARTED', message });
    return { found: this.columns, replayed: before?.replayed ?? false, resumed: this.resumed };
  }
}

/** Maximum number of names listed: a service whose field names are data can have any number of them. */
const most = 20;
