import { cameOf, type Findings } from './findings.js';
import type { Subject } from './lists.js';
import { namesOf, overlapOf } from './names.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

/** What is known of the pages of a list once its first page is. */
export interface Pages {
  readonly firstPage: 0 | 1;
  /** A page size that the service takes. */
  readonly taken: number;
  /** Whether a page has as many rows as were asked for; otherwise as many as it has always. */
  readonly honoursLimit: boolean;
  /** Rows of a page of the size `taken`. */
  readonly rows: number;
}

/** Sizes that are tried until one is taken. */
const sizes = [100, 30, 10, 1];

/** Rows that two reads of one page share at least, where the list has an order; fewer than `other` have two pages in common. */
const alike = 0.75;
const other = 0.5;

/** Finds out the number of the first page, and whether `page` and `limit` are honoured. */
export async function findFirstPage(asking: Requester, findings: Findings, subject: Subject): Promise<Pages | undefined> {
  const ask = (page: number | undefined, limit: number) => asking.ask({ ...subject, limit, ...(page !== undefined && { page }) });
  const names = (reply: Reply) => namesOf(reply.records, subject.collection);
  const tried: Reply[] = [];
  let taken = 1;
  for (taken of sizes) {
    tried.push(await ask(undefined, taken));
    if (tried.at(-1)?.kind === 'rows') break;
  }
  const sample = tried.at(-1);
  if (sample?.kind !== 'rows' || sample.records.length === 0) {
    findings.unknown('first_page', `no page of ${subject.collection.name} could be read`, tried);
    return undefined;
  }
  const { length } = sample.records;
  const size = length >= 3 ? Math.min(20, Math.floor(length / 3)) : 1;
  const [zero, one, again, two] = [await ask(0, size), await ask(1, size), await ask(1, size), await ask(2, size)];
  const replies = [...tried, zero, one, again, two];
  const unsure = (why: string) => {
    findings.unknown('first_page', why, replies);
    return undefined;
  };
  const failed = [zero, one, again, two].find(({ kind }) => kind === 'failed' || kind === 'unasked' || kind === 'strange');
  if (failed) return unsure(`${failed.evidence.request.replace(/^GET /, '')}: ${cameOf(failed)}`);
  const honoursLimit = one.records.length <= size && zero.records.length <= size;
  const pages = (firstPage: 0 | 1): Pages => ({ firstPage, taken, honoursLimit, rows: length });
  const same = (a: Reply, b: Reply) => overlapOf(names(a), names(b)) >= other;
  const hasRows = ({ records }: Reply) => records.length > 0;
  const limitWord = honoursLimit ? '' : `; limit changes nothing: a page has ${length} rows`;

  if (!hasRows(one) && hasRows(zero)) {
    findings.add('first_page', 'ok', `page 0 is the first: page 1 has no rows${limitWord}`, replies);
    return pages(0);
  }
  if (!hasRows(one)) return unsure('neither page 0 nor page 1 has rows');
  if (overlapOf(names(one), names(again)) < alike && hasRows(zero))
    return unsure('two reads of page 1 have other rows, so that pages cannot be told apart');
  if (hasRows(two) && same(one, two) && same(one, again)) {
    if (length > size && honoursLimit) {
      findings.add(
        'first_page',
        'problem',
        'page is ignored: page 1 and page 2 have the same rows, and the list has more; it cannot be read page by page',
        replies,
      );
      return undefined;
    }
    if (!honoursLimit && hasRows(zero) && same(zero, one))
      return unsure(`neither page nor limit changes anything: each answer has the same ${length} rows`);
    if (hasRows(zero)) return unsure('the list has too few rows to tell pages apart');
  }
  if (!hasRows(zero)) {
    findings.add('first_page', 'ok', `page 1 is the first; page 0 is answered with ${cameOf(zero)}${limitWord}`, replies);
    return pages(1);
  }
  if (same(zero, one)) {
    findings.add('first_page', 'ok', `page 1 is the first; page 0 is answered like it${limitWord}`, replies);
    return pages(1);
  }
  if (overlapOf(names(sample), names(zero)) < alike)
    return unsure('page 0 has other rows than page 1, and is not the first page without a number either');
  findings.add('first_page', 'ok', `page 0 is the first: it has other rows than page 1${limitWord}`, replies);
  return pages(0);
}
