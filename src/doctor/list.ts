import type { Collection } from '../collections/index.js';
import { amountOf, itemAt, SourceError } from '../core/index.js';
import { bounds, defaults } from '../options/index.js';
import type { DiagnosisFinding, Names, Probe } from './probe.js';

/** How a service pages its lists. */
export interface Paged {
  readonly firstPage: number;
  /** Rows per page; of a service, the maximum. */
  readonly limit: number;
}

export async function findPaging(probe: Probe, collection: Collection): Promise<Paged | undefined> {
  const first = await probe.check('first_page', () => findFirstPage(probe, collection));
  return first && (await probe.check('limit', () => findLimit(probe, collection, first)));
}

const sizes = [20, 5, 1];

/**
 * Reads two small pages as a run does, which refuses a list that begins earlier, and one whose pages are all the same. Page 0 must be refused, or have no
 * other rows.
 */
async function findFirstPage(probe: Probe, collection: Collection, [limit = 1, ...smaller] = sizes): Promise<Paged | undefined> {
  const unknown = (why: string): undefined => {
    probe.add('first_page', 'unknown', `not determined: ${why}`);
  };
  let [firstPage, why]: [number, string] = [1, 'page 0 has no other rows'];
  let zero: Names = [];
  try {
    zero = await probe.page(collection, 0, limit);
  } catch (error) {
    if (!(error instanceof SourceError) || error.code === 'E_SOURCE_AUTH') throw error;
    if (error.code !== 'E_SOURCE_REFUSED') return unknown(error.message);
  }
  try {
    const [one] = await probe.read(collection, 2, limit);
    if (one === undefined) return unknown(`neither page 0 nor page 1 of ${collection.name} has rows`);
    if (zero.some((name) => !one.includes(name))) return unknown('page 0 had other rows than page 1 once, and then not');
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    if (error.code === 'E_SOURCE_REFUSED' && smaller.length > 0) return findFirstPage(probe, collection, smaller);
    if (error.code !== 'E_SOURCE_FIRST_PAGE') throw error;
    [firstPage, why] = [0, 'it has rows that page 1 does not have'];
    await probe.read(collection, 2, limit, firstPage);
  }
  probe.add('first_page', 'ok', `page ${firstPage} is the first: ${why}`);
  return { firstPage, limit };
}

async function findLimit(probe: Probe, collection: Collection, { firstPage, limit: small }: Paged): Promise<Paged | undefined> {
  const [accepted, refusal] = await largestAccepted(probe, collection, firstPage, small);
  // A run restarts with the number of rows that it gets, if others follow.
  const [first, second] = await probe.read(collection, 2, accepted, firstPage);
  if (!first) {
    probe.add('limit', 'unknown', `not determined: ${collection.name} has no rows with limit=${accepted}`);
    return undefined;
  }
  const rows = first.length;
  // A page past the end may have the rows of the last one in another order.
  const isCap = rows < accepted && second !== undefined && second.length > 0;
  if (isCap) probe.add('limit', 'note', `${rows} is the cap: limit=${accepted} returns ${amountOf(rows, 'row')}, and more follow`);
  else if (rows > accepted) probe.add('limit', 'note', `limit has no effect: a page has ${amountOf(rows, 'row')}`);
  else if (refusal) probe.add('limit', 'note', `${accepted} is the cap: more are refused (${refusal.message})`);
  else if (rows === accepted) probe.add('limit', 'ok', `limit=${accepted} returns ${amountOf(rows, 'row')}; leadstream requests no more`);
  else probe.add('limit', 'note', `limit=${accepted} is accepted, but a cap is not determined: ${collection.name} has only ${rows}`);
  return { firstPage, limit: isCap ? rows : accepted };
}

/** @returns The largest limit that is accepted, and what the others got. */
async function largestAccepted(
  probe: Probe,
  collection: Collection,
  firstPage: number,
  small: number,
): Promise<readonly [limit: number, refusal: SourceError | undefined]> {
  let [accepted, refused]: [number, number] = [small, bounds.limit.max + 1];
  let refusal: SourceError | undefined;
  for (let limit: number = bounds.limit.max; refused - accepted > 1; limit = Math.floor((accepted + refused) / 2)) {
    try {
      await probe.batch(collection, firstPage, limit);
      accepted = limit;
    } catch (error) {
      if (!(error instanceof SourceError) || error.code !== 'E_SOURCE_REFUSED') throw error;
      [refused, refusal] = [limit, error];
    }
  }
  return [accepted, refusal];
}

/** Finds out what follows the end of a list, by pages further and further away. */
export async function findEnd(
  probe: Probe,
  collection: Collection,
  { firstPage, limit }: Paged,
): Promise<readonly [outcome: 'ok' | 'note' | 'unknown', message: string]> {
  let before = '';
  for (let distance = 10; distance <= 1_000_000; distance *= 10) {
    const names = await probe.page(collection, firstPage + distance, limit);
    if (names.length === 0) return ['ok', 'pages past the end have no rows'];
    const page = JSON.stringify(names.toSorted());
    if (page === before) return ['note', 'past the end, the last page is repeated; leadstream leaves out the repeats'];
    before = page;
  }
  return ['unknown', 'not determined: there are other rows on page after page'];
}

const rowsCompared = 100;

/** Finds out whether two pages stay the same. */
export async function findOrder(probe: Probe, collection: Collection, { firstPage, limit }: Paged): Promise<void> {
  const size = Math.min(limit, rowsCompared);
  const read = async () =>
    JSON.stringify([await probe.page(collection, firstPage, size), await probe.page(collection, firstPage + 1, size)]);
  if ((await read()) === (await read())) return probe.add('order', 'ok', 'two pages had the same rows in the same order when read twice');
  const remedy = 'consistency: repair, the default with files, reads a list until all rows were seen; never set it to off';
  probe.add('order', 'note', `two pages had other rows, or another order, when read twice: the list changes, or has no order; ${remedy}`);
}

export async function findSingle(probe: Probe, collection: Collection, { firstPage }: Paged): Promise<void> {
  const [row] = (await probe.batch(collection, firstPage, 1)).rows();
  const id = row?.[collection.id];
  if (typeof id !== 'string' || id === '') return probe.add('single_record', 'unknown', `not determined: a row has no ${collection.id}`);
  const found = await probe.find(collection, id);
  const isFound = found.length > 0 && found.every((each) => each[collection.id] === id);
  const others = await probe.find(collection, '999999999999999999');
  if (isFound && others.length === 0) return probe.add('single_record', 'ok', 'an existing record is found, and a missing one is not');
  const what = isFound ? 'a missing record returns others' : `an existing record returns ${found.length === 0 ? 'nothing' : 'others'}`;
  probe.add('single_record', 'problem', `${what}: lookup: by_id and fetch ID do not work here`);
}

/** Measures how long pages of two sizes take. */
export async function findLatency(probe: Probe, collection: Collection, { firstPage, limit }: Paged): Promise<void> {
  const lines: string[] = [];
  for (const size of new Set([Math.min(defaults.limit, limit), limit])) {
    const times: number[] = [];
    while (times.length < 3) {
      await probe.batch(collection, firstPage, size);
      times.push(probe.lastMs);
    }
    times.sort((a, b) => a - b);
    lines.push(`limit=${size}: ${itemAt(times, 1)} ms`);
  }
  probe.add('latency', 'ok', `median of 3 requests: ${lines.join(', ')}`);
}

const pagesRead = 3;

/**
 * Reads the first pages of a list as it is declared, and finds out what follows its end.
 *
 * @param firstPage That of the service, if known.
 * @param limits Page sizes, the preferred one first; the next one is tried if the service refuses it.
 * @returns The page size that worked; `undefined` if there were no rows.
 */
export async function lookAt(
  probe: Probe,
  collection: Collection,
  firstPage: number | undefined,
  [limit = 1, ...smaller]: readonly number[],
): Promise<number | undefined> {
  const { name, served: { paging } = { paging: undefined } } = collection;
  const add = (outcome: DiagnosisFinding['outcome'], message: string) => probe.add('declared_list', outcome, `${name}: ${message}`);
  try {
    const pages = await probe.read(collection, pagesRead, limit, firstPage);
    const stale = pages.findIndex(({ length }) => length === 0);
    if (pages.length === 0) add('unknown', 'not determined, because it has no rows');
    else if (stale > 0) add('problem', `page ${stale + 1} has only rows of earlier pages; the service does not go on as declared`);
    else {
      const rows = `pages of ${pages.map(({ length }) => length).join(', ')} rows`;
      const first = paging?.scheme === 'page' ? (paging.first ?? firstPage ?? 1) : 1;
      const isShort = pages.length < pagesRead;
      const isNumbered = paging?.scheme === 'page' || paging?.scheme === 'offset';
      const end = isShort ? 'and then the list ends' : 'each names the next one, and the end was not reached';
      const [outcome, what] =
        isShort || !isNumbered ? (['ok', end] as const) : await findEnd(probe, collection, { firstPage: first, limit });
      add(outcome, `${rows}; ${what}`);
      return limit;
    }
    return undefined;
  } catch (error) {
    const isRefused = error instanceof SourceError && error.code === 'E_SOURCE_REFUSED' && smaller.length > 0;
    if (isRefused) return lookAt(probe, collection, firstPage, smaller);
    throw error;
  }
}
