import { EMPTY, concat, defer, finalize, identity, tap, type Observable } from 'rxjs';
import { StepError, warnProcess, type Column, type Consistency, type Row, type Warning } from '../core/index.js';
import { kindOf } from '../options/index.js';
import { emptyTally, standalone, type StepContext, type Tally } from './context.js';
import { isPage, type Page, type Step } from './page.js';
import { namingRows, type KnownRows } from './row-failure.js';
import { refuseEndless } from './stalled.js';

/** The purpose of a read: what is written must be complete. */
export type Purpose = 'reading' | 'writing';

/** What a read is for. `hear` takes warnings of its steps, perhaps already on the channels of the process; returns whether it listens. */
export interface ReadFor {
  readonly purpose: Purpose;
  hear?(warning: Warning, isPublished: boolean): boolean;
}

export interface RowSource {
  /** The declared columns of the rows; `undefined` if unknown. */
  readonly columns: readonly Column[] | undefined;
  /** Columns that are secret and not revealed, for messages. */
  readonly withheld: readonly string[];
  /** Columns that identify a row; empty if unknown. */
  readonly key: readonly string[];
  /** Starts a read; nothing is requested before its pages are subscribed. */
  open(purpose: Purpose): OpenedSource;
  /** Publishes a warning, to the channels too. @returns Whether anybody listens. */
  warn?(warning: Warning): boolean;
}

export interface OpenedSource {
  readonly pages$: Observable<Page>;
  /** The undeclared columns of the rows so far. */
  undeclared(): readonly Column[];
  /** What was found out about the list; complete when the pages have ended. `undefined` if nothing is checked. */
  readonly consistency: Consistency | undefined;
  /** Whether its rows are known to be only part of a list. Default: they are complete. */
  readonly partial?: boolean;
}

/** The location of a problem in a step's configuration: keys and indexes from its value downwards. */
export type ConfigPath = readonly (string | number)[];

/** What is known when columns are followed through steps, before anything is read. */
export interface ColumnsContext extends Pick<RowSource, 'withheld'> {
  /** Reports a problem; checking continues if this returns. @param onKey Whether the problem is the key, not its value. */
  problem(path: ConfigPath, message: string, onKey?: boolean): void;
}

/** A step in a chain: what is known of an operator in addition to its effect on pages. */
export interface StepNode<In = never, Out = unknown> {
  /** Name in messages, for example `select`. */
  readonly at: string;
  /** Returns the output columns; `undefined` if unknown. */
  columns(input: readonly Column[], context: ColumnsContext): readonly Column[] | undefined;
  /** The output columns if the input columns are unknown. Default: unknown too. */
  readonly made?: readonly Column[] | undefined;
  /** Whether it takes all rows before it emits the first. Default false. */
  readonly blocking?: boolean | undefined;
  /** Creates the step for one read. Default: the operator itself. */
  readonly opened?: ((reading: Reading) => Step<In, Out>) | undefined;
}

const nodes = new WeakMap<object, StepNode>();

/** The read whose operators are being assembled. */
let applying: Reading | undefined;

/** Makes an operator carry its node. One composed by `pipe` of RxJS carries none; its parts still belong to a read. */
export function withNode<In, Out>(step: Step<In, Out>, node: StepNode<In, Out>): Step<In, Out> {
  const known: Step<In, Out> = (pages$) => (applying && node.opened ? node.opened(applying)(pages$) : step(pages$));
  nodes.set(known, node);
  return known;
}

/** Makes an operator of a step that is opened for each read; outside `RowStream.pipe`, for each subscription. */
export function openedStep<In, Out>(node: StepNode<In, Out>, opened: (reading: Reading) => Step<In, Out>): Step<In, Out> {
  const alone: Step = (pages$) =>
    defer(() => {
      const reading = new Reading({ purpose: 'reading' }, {});
      // The types of the rows are those of the step.
      const step = opened(reading) as Step<never, unknown> as Step;
      return reading.through(pages$, [{ at: node.at, step, blocking: node.blocking, known: () => undefined }]);
    });
  return withNode(alone as Step<never, unknown> as Step<In, Out>, { ...node, opened });
}

export interface Link {
  readonly at: string;
  readonly step: Step;
  readonly blocking?: boolean | undefined;
  /** Returns what is known about the rows that arrive at it. */
  known(): KnownRows | undefined;
}

/** Puts open steps behind one another, and wraps the pages that leave each. A failure at a row names the row. */
export function linked(
  pages$: Observable<Page>,
  links: readonly Link[],
  passing: (pages$: Observable<Page>, link: Link) => Observable<Page>,
): Observable<Page> {
  return links.reduce((each$, link) => passing(each$.pipe(link.step, namingRows(link.at, link.known)), link), pages$);
}

/** What a step did with the rows of a read. */
export interface CountedStep {
  /** Name of the step, for example `join`. */
  readonly at: string;
  readonly tally: Readonly<Tally>;
}

/** One read of a stream: the counts of its steps, how far each one read, their checks at the end, and the destination of their warnings. */
export class Reading {
  readonly steps: CountedStep[] = [];
  readonly #passages: Passage[] = [];
  readonly #judgements: (() => void)[] = [];

  constructor(
    private readonly wanted: ReadFor,
    private readonly source: Pick<RowSource, 'warn'>,
  ) {}

  get purpose(): Purpose {
    return this.wanted.purpose;
  }

  counted(at: string): StepContext {
    const context = standalone(at);
    this.steps.push({ at, tally: context.tally });
    return context;
  }

  /** Passes a warning to the watchers of the connection and to this read, or to the process if nobody listens. */
  warn(warning: Warning): void {
    const heard = this.source.warn?.(warning);
    const overheard = this.hear(warning, heard !== undefined);
    if (heard !== true && !overheard) warnProcess(warning);
  }

  hear(warning: Warning, isPublished: boolean): boolean {
    return this.wanted.hear?.(warning, isPublished) ?? false;
  }

  /** Registers a check for the end of the read, even one that a later step brought about. An error that it throws ends the stream. */
  atEnd(judge: () => void): void {
    this.#judgements.push(judge);
  }

  through(pages$: Observable<Page>, links: readonly Link[]): Observable<Page> {
    let watched = 0;
    const passing = (each$: Observable<Page>, at: string, blocking?: boolean) => {
      // The steps counted since the previous call, which produce these pages.
      const passage = new Passage(at, blocking ?? false, this.steps.slice(watched));
      watched = this.steps.length;
      this.#passages.push(passage);
      return passage.watch(each$);
    };
    const source$ = passing(pages$.pipe(namingRows<Row>(undefined, () => undefined)), 'the source of the rows');
    const made$ = linked(source$, links, (each$, { at, blocking }) => passing(each$, at, blocking));
    const judged$ = defer(() => {
      for (const judge of this.#judgements) judge();
      return EMPTY;
    });
    return concat(made$, judged$).pipe(
      refuseEndless(() => `${this.#passages.find(({ isOpen }) => isOpen)?.from ?? 'the stream'} never ends`),
    );
  }

  /** Whether rows of the source were left unread. A step that takes all rows first has read everything. */
  get isPartial(): boolean {
    const blocking = this.#passages.findIndex(({ isBlocking }) => isBlocking);
    const fromSource = blocking < 0 ? this.#passages : this.#passages.slice(0, blocking);
    return fromSource.some(({ isWhole }) => !isWhole);
  }
}

interface Taking {
  outcome: 'open' | 'whole' | 'left';
}

/** The pages that pass from one step to the next; tracks whether the most recent subscriber consumed all. */
class Passage {
  #last: Taking | undefined;
  #open = 0;

  /** @param counted Starts from zero when the stream is restarted after an unfinished subscription, as by `retry`. */
  constructor(
    readonly from: string,
    readonly isBlocking: boolean,
    private readonly counted: readonly CountedStep[],
  ) {}

  watch(pages$: Observable<Page>): Observable<Page> {
    return defer(() => {
      if (this.#last?.outcome === 'left') for (const { tally } of this.counted) Object.assign(tally, emptyTally());
      const taking: Taking = { outcome: 'open' };
      const left = () => void (taking.outcome = 'left');
      this.#last = taking;
      this.#open += 1;
      return pages$.pipe(
        tap({ complete: () => (taking.outcome = 'whole'), error: left, unsubscribe: left }),
        finalize(() => (this.#open -= 1)),
      );
    });
  }

  get isOpen(): boolean {
    return this.#open > 0;
  }

  get isWhole(): boolean {
    return this.#last?.outcome === 'whole';
  }
}

export class StepChain {
  /** The columns after the last step; `undefined` if unknown. */
  readonly columns: readonly Column[] | undefined;

  /** @throws {StepError} `E_STEP_CONFIG` for a step that names fields which the rows do not have, as far as columns are known. */
  constructor(
    private readonly source: RowSource,
    private readonly steps: readonly Step[] = [],
  ) {
    this.columns = this.#columnsBehind(steps, source.columns, (at) => (_path, message) => {
      throw new StepError('E_STEP_CONFIG', `${at}: ${message}`);
    });
  }

  followedBy(more: readonly Step[]): StepChain {
    return new StepChain(this.source, [...this.steps, ...more]);
  }

  through(pages$: Observable<Page>, reading: Reading): Observable<Page> {
    const links = this.steps.map((step, index): Link => {
      const node = nodes.get(step);
      const at = node?.at ?? `pipe: operator ${index + 1}`;
      const checked = node === undefined ? tap<Page>(checkPage(at)) : identity;
      const applied: Step = (each$) => {
        const before = applying;
        applying = reading;
        try {
          return each$.pipe(step, checked);
        } finally {
          applying = before;
        }
      };
      return { at, step: applied, blocking: node?.blocking, known: () => this.#known(index) };
    });
    return reading.through(pages$, links);
  }

  /** Returns the output columns if the source has these undeclared columns in addition to the declared ones. No step takes their names. */
  columnsWith(undeclared: readonly Column[]): readonly Column[] | undefined {
    const { columns } = this.source;
    if (columns === undefined || undeclared.length === 0) return this.columns;
    const behind = this.#columnsBehind(this.steps, [...columns, ...undeclared], () => () => {});
    return behind && [...new Map(behind.map((column) => [column.name, column])).values()];
  }

  #known(index: number): KnownRows | undefined {
    const { columns, key } = this.source;
    const arriving = this.#columnsBehind(this.steps.slice(0, index), columns, () => () => {});
    return arriving && { key, columns: arriving };
  }

  #columnsBehind(
    steps: readonly Step[],
    from: readonly Column[] | undefined,
    problemAt: (at: string) => ColumnsContext['problem'],
  ): readonly Column[] | undefined {
    const { withheld } = this.source;
    return steps.reduce((columns, step) => {
      const node = nodes.get(step);
      return columns && node ? node.columns(columns, { withheld, problem: problemAt(node.at) }) : node?.made;
    }, from);
  }
}

/** Returns a check that values are pages. @param who Names the producer in messages. */
export function checkPage(who: string): (page: Page) => void {
  return (page: unknown) => {
    if (isPage(page)) return;
    throw new StepError(
      'E_STEP_CONFIG',
      `${who} must emit pages, not ${kindOf(page)}; operators for rows go after .rows$, and operators that emit pages only in combination are passed as one, with pipe(…) of rxjs`,
    );
  };
}
