import { amountOf } from '../core/index.js';
import { bounds } from '../options/index.js';
import { cameOf, type Findings } from './findings.js';
import type { Pages } from './first-page.js';
import type { MeasuredList } from './measured-list.js';
import { namesOf } from './names.js';
import { sizeParameter } from './own-words.js';
import type { Reply } from './reply.js';

/** Finds the maximum number of rows per page, as far as the list is long enough. @returns The limit to set. */
export class CapSearch {
  readonly #replies: Reply[] = [];
  /** Whether the largest limit that leadstream may request is refused. */
  isRefused = false;
  /** Name of the page size in requests. */
  readonly #size: string;

  constructor(
    private readonly findings: Findings,
    private readonly list: MeasuredList,
    private readonly pages: Omit<Pages, 'firstPage'>,
    /** The largest limit to try. */
    private readonly most: number = bounds.limit.max,
  ) {
    this.#size = sizeParameter(list.collection);
  }

  async limit(): Promise<number | undefined> {
    const { pages, findings, most } = this;
    if (!pages.honoursLimit) return this.#fixed();
    const whole = await this.#page(0, most);
    this.isRefused = whole.kind === 'refused';
    if (this.isRefused) return this.#refused(whole);
    if (whole.kind !== 'rows') return this.#unknown(`${this.#size}=${most}: ${cameOf(whole)}`);
    const rows = whole.records.length;
    if (rows < most) return this.#short(whole, most);
    const told = `${this.#size}=${most} returns ${amountOf(most, 'row')}`;
    if (most < bounds.limit.max) findings.add('limit', 'ok', `${told}, like other pages of the service`, this.#replies);
    else findings.add('limit', 'ok', `${told}${await this.#beyond(2 * most)}; leadstream requests at most ${most}`, this.#replies);
    return most;
  }

  async #beyond(limit: number): Promise<string> {
    const more = await this.#page(0, limit);
    return more.kind === 'rows' ? `, ${this.#size}=${limit} returns ${more.records.length}` : '';
  }

  /** If limit has no effect, pages have a fixed size, and a run reads them as they are. */
  #fixed(): number {
    const { rows } = this.pages;
    this.findings.add('limit', 'note', `${this.#size} has no effect: a page has ${amountOf(rows, 'row')}`);
    return Math.min(rows, bounds.limit.max);
  }

  /** A short page is either the end of the list, or its length is the cap. */
  async #short(page: Reply, asked: number): Promise<number | undefined> {
    const rows = page.records.length;
    const follows = await this.#isFollowed(page, asked);
    if (follows === undefined) return undefined;
    if (follows) return this.#silent(page, asked);
    const { name } = this.list.collection;
    const message = `${this.#size}=${asked} is accepted; whether pages can have that many rows is not determined, because ${name} has only ${rows}`;
    this.findings.add('limit', 'note', message, this.#replies);
    return asked;
  }

  /** Whether other rows come after a first page. `undefined` if unknown, which has then been reported as a finding. */
  async #isFollowed(page: Reply, asked: number): Promise<boolean | undefined> {
    const known = new Set(this.#names(page));
    // One new row is enough: a limit that is too small costs requests, and one that is too large loses rows.
    const isNew = (reply: Reply) => this.#names(reply).some((name) => !known.has(name));
    let repeats = false;
    // The next page may begin where one of the requested limit would.
    for (const limit of [asked, page.records.length]) {
      const next = await this.#page(1, limit);
      const isEnd = next.endForm !== undefined;
      if (next.kind === 'failed' || next.kind === 'unasked' || (next.kind === 'strange' && !isEnd)) return this.#unknown(cameOf(next));
      if (isNew(next)) return true;
      repeats ||= next.kind === 'rows' && next.records.length > 0;
    }
    // A page that repeats rows may be one past the end, or one of a list whose order differs each time, which later pages show.
    if (repeats) for (const distance of [2, 8, 0, 1]) if (isNew(await this.#page(distance, asked))) return true;
    return false;
  }

  /** Finds the largest accepted limit, between an accepted and a refused one. */
  async #refused(refusal: Reply): Promise<number | undefined> {
    let taken = this.pages.taken;
    let refused = this.most;
    let isEnd = false;
    while (refused - taken > 1) {
      // Tries common caps first.
      const likely = [100, 200, 250, 50, 60, 30].find((size) => size > taken && size < refused && this.#replies.length < 3);
      const size = likely ?? Math.floor((taken + refused) / 2);
      const reply = await this.#page(0, size);
      if (reply.kind === 'refused') refused = size;
      else if (reply.kind !== 'rows') return this.#unknown(`${this.#size}=${size}: ${cameOf(reply)}`);
      else taken = size;
      if (reply.kind !== 'rows' || reply.records.length >= size || isEnd) continue;
      // A limit can be accepted but not honoured.
      const follows = await this.#isFollowed(reply, size);
      if (follows === undefined) return undefined;
      if (follows) return this.#silent(reply, size);
      isEnd = true;
    }
    const message = `${taken} is the cap: ${this.#size}=${refused} is refused with ${cameOf(refusal)}`;
    this.findings.add('limit', 'note', message, this.#replies);
    return taken;
  }

  #silent({ records }: Reply, asked: number): number {
    const rows = records.length;
    this.findings.add(
      'limit',
      'note',
      `${rows} is the cap: ${this.#size}=${asked} returns ${amountOf(rows, 'row')}, and more follow`,
      this.#replies,
    );
    return rows;
  }

  async #page(distance: number, limit: number): Promise<Reply> {
    const reply = await this.list.page(distance, limit);
    this.#replies.push(reply);
    return reply;
  }

  #names({ records }: Reply): readonly string[] {
    return namesOf(records, this.list.collection);
  }

  #unknown(why: string): undefined {
    this.findings.unknown('limit', why, this.#replies);
    return undefined;
  }
}
