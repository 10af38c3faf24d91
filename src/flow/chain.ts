import { EMPTY, Observable, concat, defer, identity, tap, type Operator } from 'rxjs';
import { StepError, warnProcess, type Column, type Consistency, type Row, type Warning } from '../core/index.js';
import { kindOf } from '../options/index.js';
import { emptyTally, standalone, type StepContext, type Tally } from './context.js';
import { isPage, type Page, type Step } from './page.js';
import { namingRows, type KnownRows } from './row-failure.js';
import { refuseEndless } from './stalled.js';

/** The purpose of a read: what is written must be complete. */
export type Purpose = 'reading' | 'writing';

/** The purpose of a read. `hear` takes warnings of its steps, perhaps already on the process's channels, and returns whether it listens. */
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
  /** Publishes a warning, also to the channels. @returns Whether anybody listens. */
  warn?(warning: Warning): boolean;
}

export interface OpenedSource {
  readonly pages$: Observable<Page>;
  undeclared(): readonly Column[];
  /** What was found out about the list, complete at the end of the pages; `undefined` if nothing is checked. */
  readonly consistency: Consistency | undefined;
  /** Whether its rows are known to be only part of a list. Default: they are complete. */
  readonly partial?: boolean;
}

/** The place of a problem in a step's configuration: keys and indexes from its value downwards. */
export type ConfigPath = readonly (string | number)[];

/** What is known when columns are followed through steps, before anything is read. */
export interface ColumnsContext extends Pick<RowSource, 'withheld'> {
  /** Reports a problem; checking continues if this returns. @param onKey Whether the problem is the key, not its value. */
  problem(path: ConfigPath, message: string, onKey?: boolean): void;
}

/** A step in a chain: what is known of an operator besides its effect on pages. */
export interface StepNode<In = never, Out = unknown> {
  readonly at: string;
  /** Returns the output columns; `undefined` if unknown. */
  columns(input: readonly Column[], context: ColumnsContext): readonly Column[] | undefined;
  /** The output columns if the input columns are unknown. Default: unknown. */
  readonly made?: readonly Column[] | undefined;
  /** Whether it takes all rows before it emits the first. Default false. */
  readonly blocking?: boolean | undefined;
  /** Creates the step for one read. Default: the operator itself. */
  readonly opened?: ((read: ChainRead) => Step<In, Out>) | undefined;
}

const nodes = new WeakMap<object, StepNode>();

/** Pages that carry their read through operators, so that the parts of a `pipe` of RxJS are opened for it, too. */
class PagesOfRead<T> extends Observable<T> {
  constructor(
    readonly read: ChainRead,
    source$: Observable<T>,
  ) {
    super((subscriber) => source$.subscribe(subscriber));
  }

  /* oxlint-disable typescript/no-deprecated -- operators of RxJS 7 make their results by `lift`, and by nothing else */
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    return new PagesOfRead(this.read, super.lift(operator));
  }
  /* oxlint-enable typescript/no-deprecated */
}

export function withNode<In, Out>(step: Step<In, Out>, node: StepNode<In, Out>): Step<In, Out> {
  const known: Step<In, Out> = (pages$) => {
    if (!(pages$ instanceof PagesOfRead)) return step(pages$);
    const { read } = pages$;
    return new PagesOfRead(read, (node.opened?.(read) ?? step)(pages$));
  };
  nodes.set(known, node);
  return known;
}

/** Makes an operator of a step that counts. @param context Counts and takes rejects for all reads. Default: each read has its own. */
export function countedStep<In, Out>(
  node: StepNode<In, Out>,
  open: (context: StepContext) => Step<In, Out>,
  context?: StepContext,
): Step<In, Out> {
  const opened = (read: ChainRead) => open(read.counted(node.at));
  return withNode(open(context ?? standalone(node.at)), context ? node : { ...node, opened });
}

/** Makes an operator of a step that is opened for each read; outside `RowStream.pipe`, for each subscription. */
export function openedStep<In, Out>(node: StepNode<In, Out>, opened: (read: ChainRead) => Step<In, Out>): Step<In, Out> {
  // The types of the rows are those of the step.
  const open = (read: ChainRead) => opened(read) as Step<never, unknown> as Step;
  const alone: Step = (pages$) =>
    defer(() => new ChainRead({ purpose: 'reading' }, {}).through(pages$, [{ ...node, open, known: () => undefined }]));
  return withNode(alone as Step<never, unknown> as Step<In, Out>, { ...node, opened });
}

export interface ChainStep {
  readonly at: string;
  readonly blocking?: boolean | undefined;
  open(read: ChainRead): Step;
  known(): KnownRows | undefined;
}

/** What a step did with the rows of a read. */
export interface CountedStep {
  readonly at: string;
  readonly tally: Readonly<Tally>;
}

/** A read through a chain: the counts of its steps, how far each read, their checks at the end, and where their warnings go. */
export class ChainRead {
  readonly steps: CountedStep[] = [];
  readonly #passages: Passage[] = [];
  readonly #checks: (() => void)[] = [];

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

  /** Passes a warning to the connection's watchers and to this read, or to the process if nobody listens. */
  warn(warning: Warning): void {
    const heard = this.source.warn?.(warning);
    const overheard = this.hear(warning, heard !== undefined);
    if (heard !== true && !overheard) warnProcess(warning);
  }

  hear(warning: Warning, isPublished: boolean): boolean {
    return this.wanted.hear?.(warning, isPublished) ?? false;
  }

  /** Registers a check for the end of the read, even if a later step causes it. An error of it ends the stream. */
  atEnd(check: () => void): void {
    this.#checks.push(check);
  }

  /** Opens steps in sequence: failures name the row, and endless streams fail. @param onPage Called with each page that leaves a step. */
  through(pages$: Observable<Page>, steps: readonly ChainStep[], onPage?: (page: Page, at: string) => void): Observable<Page> {
    const passing = (from: string, isBlocking: boolean, counted: readonly CountedStep[], each$: Observable<Page>) => {
      const passage = new Passage(from, isBlocking, counted);
      this.#passages.push(passage);
      return passage.watch(each$);
    };
    const source$ = passing('the source of the rows', false, [], pages$.pipe(namingRows<Row>(undefined, () => undefined)));
    const made$ = steps.reduce((each$, { at, blocking = false, open, known }) => {
      const before = this.steps.length;
      const observed = onPage ? tap<Page>((page) => onPage(page, at)) : identity;
      const next$ = each$.pipe(open(this), namingRows(at, known), observed);
      return passing(at, blocking, this.steps.slice(before), next$);
    }, source$);
    const checked$ = defer(() => {
      for (const check of this.#checks) check();
      return EMPTY;
    });
    return concat(made$, checked$).pipe(
      refuseEndless(() => `${this.#passages.find(({ outcome }) => outcome === 'open')?.from ?? 'the stream'} never ends`),
    );
  }

  get failedAt(): string | undefined {
    return this.#passages.find(({ outcome }) => outcome === 'failed')?.from;
  }

  /** Whether rows of the source were left unread. A step that takes all rows first has read everything. */
  get isPartial(): boolean {
    const blocking = this.#passages.findIndex(({ isBlocking }) => isBlocking);
    const fromSource = blocking < 0 ? this.#passages : this.#passages.slice(0, blocking);
    return fromSource.some(({ outcome }) => outcome !== 'whole');
  }
}

interface Taking {
  outcome: 'open' | 'whole' | 'left' | 'failed';
}

/** The pages between two steps; tracks how far the latest subscriber took them. */
class Passage {
  #last: Taking | undefined;

  /** @param counted Starts from zero when the stream restarts after an unfinished subscription, as by `retry`. */
  constructor(
    readonly from: string,
    readonly isBlocking: boolean,
    private readonly counted: readonly CountedStep[],
  ) {}

  get outcome(): Taking['outcome'] | undefined {
    return this.#last?.outcome;
  }

  watch(pages$: Observable<Page>): Observable<Page> {
    return defer(() => {
      if (this.outcome === 'left' || this.outcome === 'failed') for (const { tally } of this.counted) Object.assign(tally, emptyTally());
      const taking: Taking = { outcome: 'open' };
      this.#last = taking;
      const ended = (outcome: Taking['outcome']) => () => void (taking.outcome = outcome);
      return pages$.pipe(tap({ complete: ended('whole'), error: ended('failed'), unsubscribe: ended('left') }));
    });
  }
}

/** Returns a program's steps as a read opens them. An operator that is not leadstream's is called by its place. */
export function chainOf(steps: readonly Step[], source: RowSource): readonly ChainStep[] {
  return steps.map((step, index): ChainStep => {
    const node = nodes.get(step);
    const at = node?.at ?? `pipe: operator ${index + 1}`;
    const checked = node ? identity : tap<Page>(checkPage(at));
    const known = () => {
      const columns = columnsBehind(steps.slice(0, index), source);
      return columns && { key: source.key, columns };
    };
    return { at, blocking: node?.blocking, open: (read) => (each$) => checked(step(new PagesOfRead(read, each$))), known };
  });
}

/** Returns the columns behind a program's steps; `undefined` if unknown. @param problem Called with what is wrong with a step. */
export function columnsBehind(
  steps: readonly Step[],
  { columns: from, withheld }: Pick<RowSource, 'columns' | 'withheld'>,
  problem: (message: string) => void = () => {},
): readonly Column[] | undefined {
  return steps.reduce((columns, step) => {
    const node = nodes.get(step);
    if (!columns || !node) return node?.made;
    return node.columns(columns, { withheld, problem: (_path, message) => problem(`${node.at}: ${message}`) });
  }, from);
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
