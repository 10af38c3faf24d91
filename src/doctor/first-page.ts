import { amountOf } from '../core/index.js';
import { cameOf, type Findings } from './findings.js';
import type { Subject } from './lists.js';
import { namesOf, overlapOf } from './names.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

/** What is known about the pages of a list once its first page is known. */
export interface Pages {
  readonly firstPage: 0 | 1;
  /** A page size that the service accepts. */
  readonly taken: number;
  /** Whether a page has as many rows as requested; otherwise it has a fixed number. */
  readonly honoursLimit: boolean;
  /** Number of rows in a page of size `taken`. */
  readonly rows: number;
}

/** Page sizes to try until one is accepted. */
const sizes = [100, 30, 10, 1];

/** Number of times that pages 0 and 1 are read again if they have a single row each. */
const doubted = 3;

/** Determines the number of the first page, and whether `page` and `limit` are honoured. */
export async function findFirstPage(asking: Requester, findings: Findings, subject: Subject): Promise<Pages | undefined> {
  const { tried, sample, taken } = await sampleOf(asking, subject);
  if (sample === undefined) {
    const [first] = tried;
    const why = first ? `: ${cameOf(first)}` : '';
    findings.unknown('first_page', `no page of ${subject.collection.name} could be read${why}`, tried);
    return undefined;
  }
  const rows = sample.records.length;
  const size = rows >= 3 ? Math.min(20, Math.floor(rows / 3)) : 1;
  const { zeros, ones, two } = await firstPages(asking, subject, size);
  const [zero] = zeros;
  const probed = [...zeros, ...ones, two];
  const replies = [...tried, ...probed];
  const failed = probed.find(({ kind }) => kind === 'failed' || kind === 'unasked' || kind === 'strange');
  if (failed) {
    findings.unknown('first_page', `${failed.evidence.request}: ${cameOf(failed)}`, replies);
    return undefined;
  }
  const names = (reply: Reply) => namesOf(reply.records, subject.collection);
  const honoursLimit = probed.every(({ records }) => records.length <= size);
  const pages = { sample: names(sample), zeros: zeros.map(names), ones: ones.map(names), two: names(two) };
  const verdict = verdictOf(pages, honoursLimit ? size : undefined);
  if (verdict.firstPage === undefined) {
    findings.add(
      'first_page',
      verdict.isKnown ? 'problem' : 'unknown',
      verdict.isKnown ? verdict.why : `not determined: ${verdict.why}`,
      replies,
    );
    return undefined;
  }
  const came = zero?.records.length === 0 ? `; page 0 returns ${cameOf(zero)}` : verdict.why;
  const fixed = honoursLimit ? '' : `; limit has no effect: a page has ${amountOf(rows, 'row')}`;
  findings.add('first_page', 'ok', `page ${verdict.firstPage} is the first${came}${fixed}`, replies);
  return { firstPage: verdict.firstPage, taken, honoursLimit, rows };
}

/** Reads pages 0 and 1 several times, and page 2. */
async function firstPages(asking: Requester, subject: Subject, size: number) {
  const read = (page: number) => asking.ask({ ...subject, page, limit: size });
  const [zeros, ones, two] = [[await read(0), await read(0)], [await read(1), await read(1)], await read(2)];
  const [zero] = zeros;
  // A single row may be on a page by chance.
  for (let more = 0; more < doubted && size === 1 && zero?.kind === 'rows' && zero.records.length > 0; more += 1)
    for (const [page, reads] of [zeros, ones].entries()) reads.push(await read(page));
  return { zeros, ones, two };
}

/** Reads the first page without a page number, in the largest accepted size. */
async function sampleOf(asking: Requester, subject: Subject) {
  const tried: Reply[] = [];
  for (const taken of sizes) {
    const reply = await asking.ask({ ...subject, limit: taken });
    tried.push(reply);
    if (reply.kind === 'unasked') break;
    if (reply.kind === 'rows') return { tried, sample: reply.records.length > 0 ? reply : undefined, taken };
  }
  return { tried, sample: undefined, taken: 1 };
}

/** The conclusion from the pages. */
type Verdict =
  | { readonly firstPage: 0 | 1; readonly why: string }
  | { readonly firstPage: undefined; /** Whether this is certain. */ readonly isKnown: boolean; readonly why: string };

type Names = readonly string[];

/** Minimum share of rows common to two reads of the same page, if the list has an order. Different pages share less than `other`. */
const alike = 0.75;
const other = 0.5;

/** The rows of the pages read. */
interface PagesRead {
  /** Of the first page, read without a number. */
  readonly sample: Names;
  /** Of page 0 and page 1, for each time they were read. */
  readonly zeros: readonly Names[];
  readonly ones: readonly Names[];
  readonly two: Names;
}

/**
 * Decides by the rows that pages have in common.
 *
 * @param size Number of rows requested, if pages have no more.
 */
function verdictOf({ sample, zeros, ones, two }: PagesRead, size: number | undefined): Verdict {
  const [zero = []] = zeros;
  const [one = []] = ones;
  const unsure = (why: string): Verdict => ({ firstPage: undefined, isKnown: false, why });
  const same = (a: Names, b: Names) => overlapOf(a, b) >= other;
  const isEmpty = (page: Names) => page.length === 0;
  for (const [page, reads] of [zeros, ones].entries())
    if (reads.some(isEmpty) && !reads.every(isEmpty)) return unsure(`page ${page} is sometimes empty and sometimes not`);
  if (isEmpty(one)) return isEmpty(zero) ? unsure('neither page 0 nor page 1 has rows') : { firstPage: 0, why: ': page 1 has no rows' };
  if (!isEmpty(zero) && [zeros, ones].some(([first = [], ...others]) => others.some((again) => overlapOf(first, again) < alike)))
    return unsure('two reads of a page returned different rows, so pages cannot be told apart');
  if (same(one, two)) {
    if (size !== undefined && sample.length > size)
      return {
        firstPage: undefined,
        isKnown: true,
        why: 'page is ignored: page 1 and page 2 have the same rows, and the list has more; it cannot be read page by page',
      };
    if (size === undefined && same(zero, one))
      return unsure(`neither page nor limit has any effect: each response has the same ${amountOf(sample.length, 'row')}`);
    if (!isEmpty(zero)) return unsure('the list has too few rows to tell pages apart');
  }
  if (isEmpty(zero)) return { firstPage: 1, why: '' };
  // Without another page after them, two similar pages may be one whose rows moved.
  if (same(zero, one))
    return isEmpty(two) ? unsure('the list has too few rows to tell pages apart') : { firstPage: 1, why: '; page 0 returns the same rows' };
  if (same(zero, two)) return unsure('page 0 has rows of page 2');
  if (overlapOf(sample, zero) < alike)
    return unsure('page 0 has different rows from page 1, and is not the page returned without a number either');
  return { firstPage: 0, why: ': its rows differ from those of page 1' };
}
