import { amountOf } from '../core/index.js';
import type { DiagnosisFinding } from './diagnosis.js';
import { isNumbered, type Served } from '../collections/index.js';
import { cameOf, type Findings } from './findings.js';
import type { OwnSubject } from './lists.js';
import { NumberedList, SequentialList } from './measured-list.js';
import { namesOf, overlapOf } from './names.js';
import { lacking, listAt, nextAt, parameterOf } from './own-words.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

/** What is known about the pages of a custom collection. */
export interface OwnPages {
  readonly list: NumberedList | SequentialList;
  /** A page size that the service accepts. */
  readonly taken: number;
  readonly honoursLimit: boolean;
  /** Number of rows in a page of size `taken`. */
  readonly rows: number;
}

/** Page sizes to try until one is accepted; a page of one row says nothing about the next. */
const sizes = [100, 30, 10, 2, 1];
/** Minimum share of rows common to two reads of one page, but not to two different pages. */
const alike = 0.5;

/** The first page of a list, in the largest accepted size. */
interface Sample {
  readonly list: NumberedList | SequentialList;
  readonly taken: number;
  readonly reply: Reply;
  readonly tried: readonly Reply[];
  /** What else is known about the start of the list. */
  readonly remark: string;
}

/**
 * Checks whether a custom collection is paged as declared: whether the first page has a list in the right place, and the second one the rows after it.
 *
 * @param usual The number of the first page of the service, if known.
 */
export async function findOwnPages(
  asking: Requester,
  findings: Findings,
  subject: OwnSubject,
  usual: 0 | 1 | undefined,
): Promise<OwnPages | undefined> {
  const sample = await sampleOf(asking, subject);
  const { reply, list, taken, tried, remark } = sample;
  const rows = reply.records.length;
  if (reply.kind !== 'rows' || rows === 0) {
    const { name } = subject.collection;
    findings.unknown(
      'first_page',
      reply.kind === 'rows' ? `${name} has no rows` : `no page of ${name} could be read: ${cameOf(reply)}`,
      tried,
    );
    return undefined;
  }
  const pair = await twoPages(sample, subject);
  const problem = otherFirst(subject, list, usual);
  const verdict: Verdict = problem === undefined ? verdictOf(subject, sample, pair) : { outcome: 'problem', message: problem };
  const message = problem ?? `${remark}${verdict.message}`;
  findings.add('first_page', verdict.outcome, message, [...new Set([...tried, pair.first, pair.second])]);
  const isPaged = verdict.outcome === 'ok' || verdict.outcome === 'note';
  return isPaged ? { list, taken, honoursLimit: pair.honoursLimit, rows } : undefined;
}

async function sampleOf(asking: Requester, subject: OwnSubject): Promise<Sample> {
  const { served } = subject;
  if (!isNumbered(served.paging)) return { ...(await sampled(new SequentialList(asking, subject), served)), remark: '' };
  const sample = await sampled(new NumberedList(asking, subject, 1), served);
  if (served.paging.scheme !== 'page') return { ...sample, remark: '' };
  const before = new NumberedList(asking, subject, 0);
  const zero = await before.page(0, sample.taken);
  const tried = [...sample.tried, zero];
  if (zero.kind === 'failed' || zero.kind === 'unasked') return { ...sample, reply: zero, tried, remark: '' };
  const names = (reply: Reply) => namesOf(reply.records, subject.collection);
  const isSame = overlapOf(names(zero), names(sample.reply)) >= alike;
  if (zero.records.length > 0 && !isSame) {
    const why = sample.reply.records.length === 0 ? 'page 1 has no rows' : 'its rows differ from those of page 1';
    return { list: before, taken: sample.taken, reply: zero, tried, remark: `page 0 is the first: ${why}; ` };
  }
  return { ...sample, tried, remark: `page 1 is the first; page 0 returns ${isSame ? 'the same rows' : cameOf(zero)}; ` };
}

async function sampled(list: NumberedList | SequentialList, { paging }: Served): Promise<Omit<Sample, 'remark'>> {
  const tried: Reply[] = [];
  let [taken, reply] = [100, await list.page(0, 100)];
  tried.push(reply);
  // If no size is sent, trying another has no effect.
  for (const size of 'limit' in paging && paging.limit === 'none' ? [] : sizes.slice(1)) {
    if (reply.kind === 'rows' || reply.kind === 'unasked') break;
    [taken, reply] = [size, await list.page(0, size)];
    tried.push(reply);
  }
  return { list, taken, reply, tried };
}

/** The first two pages, in a size of which the sample contains three. */
interface Pair {
  readonly first: Reply;
  readonly second: Reply;
  readonly honoursLimit: boolean;
  /** Number of rows requested. */
  readonly size: number;
}

async function twoPages({ list, reply, taken }: Sample, { served: { paging } }: OwnSubject): Promise<Pair> {
  const rows = reply.records.length;
  if ('limit' in paging && paging.limit === 'none') {
    // An offset continues where the page ended.
    const size = paging.scheme === 'offset' ? rows : taken;
    return { first: reply, second: await list.page(1, size), honoursLimit: false, size };
  }
  const size = Math.max(1, Math.min(20, Math.floor(rows / 3)));
  const first = await list.page(0, size);
  const honoursLimit = first.records.length <= size;
  return { first, second: await list.page(1, honoursLimit ? size : first.records.length), honoursLimit, size };
}

/** The conclusion from the first two pages. */
interface Verdict {
  readonly outcome: DiagnosisFinding['outcome'];
  readonly message: string;
}

function verdictOf(subject: OwnSubject, { reply, list }: Sample, { first, second, honoursLimit, size }: Pair): Verdict {
  const { served, collection } = subject;
  const names = (page: Reply) => namesOf(page.records, collection);
  const came = (outcome: Verdict['outcome'], message: string): Verdict => ({ outcome, message });
  const isNumbered = list instanceof NumberedList;
  for (const [page, which] of [
    [first, 'first'],
    [second, 'second'],
  ] as const) {
    if (page.kind === 'rows' || (isNumbered && page === second && page.evidence.status === 404)) continue;
    const isOpen = page.kind === 'failed' || page.kind === 'unasked';
    return came(isOpen ? 'unknown' : 'problem', `${isOpen ? 'not determined: ' : ''}the ${which} page: ${cameOf(page)}`);
  }
  const at = listAt(served);
  const fixed = honoursLimit ? '' : `; a page has ${amountOf(first.records.length, 'row')}, whatever size is requested`;
  if (second.records.length === 0 && (!honoursLimit || reply.records.length <= size))
    return came('note', `${at}; there is no second page${fixed}`);
  if (second.records.length === 0) return came('problem', lacking(served, size));
  if (overlapOf(names(first), names(second)) >= alike)
    return came('problem', `the second page has the rows of the first: the service ignores ${parameterOf(served)}`);
  const expected = names(reply).slice(size, 2 * size);
  if (honoursLimit && expected.length > 0 && overlapOf(expected, names(second)) < alike)
    return came(
      'unknown',
      `not determined: the second page has other rows than those after the first; ${parameterOf(served)} may count something else`,
    );
  return came('ok', `${at}; ${nextAt(served)} leads to the rows after the first page${fixed}`);
}

/** Reports a list that begins with another page than a run would. @param usual The number of the first page of the service. */
function otherFirst({ served: { paging } }: OwnSubject, list: Sample['list'], usual: 0 | 1 | undefined): string | undefined {
  if (paging.scheme !== 'page' || !(list instanceof NumberedList)) return undefined;
  const { firstPage } = list;
  if (firstPage === (paging.first ?? usual ?? firstPage)) return undefined;
  const said = paging.first === undefined ? `service.first_page is ${usual}` : `the file declares first: ${paging.first}`;
  return `page ${firstPage} is the first, and ${said}; declare first: ${firstPage} in its paging`;
}
