import { cameOf, type Findings } from './findings.js';
import type { Pages } from './first-page.js';
import type { Subject } from './lists.js';
import type { MeasuredList, NumberedList } from './measured-list.js';
import { changeOf, namesOf, overlapOf } from './names.js';
import { declareEnd } from './own-words.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

/** Pages to request, further and further from the first, until one is past the end. */
const distances = [10, 100, 1_000, 10_000, 100_000, 1_000_000];

/** Determines what the service answers past the end of a list. @param limit Page size. */
export async function findEnd(findings: Findings, list: NumberedList, limit: number): Promise<void> {
  const replies: Reply[] = [];
  const names = (reply: Reply) => namesOf(reply.records, list.collection);
  for (const distance of distances) {
    const reply = await list.page(distance, limit);
    const before = replies.at(-1);
    replies.push(reply);
    if (reply.kind === 'failed' || reply.kind === 'unasked') return findings.unknown('end_of_list', cameOf(reply), replies);
    if (reply.kind === 'rows' && reply.records.length === 0)
      return findings.add('end_of_list', 'ok', 'pages past the end are empty lists', replies);
    if (reply.kind === 'refused' && reply.evidence.status === 404)
      return findings.add('end_of_list', 'ok', 'pages past the end return 404, which leadstream reads as the end', replies);
    if (reply.kind !== 'rows')
      return findings.add(
        'end_of_list',
        'problem',
        `a page past the end returns ${cameOf(reply)}, which makes a run fail${declareEnd(reply)}`,
        replies,
      );
    if (before && overlapOf(names(before), names(reply)) >= 0.5)
      return findings.add('end_of_list', 'note', 'past the end, the last page is repeated; leadstream leaves out the repeats', replies);
  }
  findings.unknown('end_of_list', `page ${list.firstPage + 1_000_000} still has other rows`, replies);
}

/** Number of rows in the pages that are read twice. */
const rowsCompared = 100;

/** Determines whether a list has an order. @param limit Page size. */
export async function findOrder(findings: Findings, list: MeasuredList, limit: number): Promise<void> {
  const size = Math.min(limit, rowsCompared);
  const read = (page: 0 | 1) => list.page(page, size);
  const [first, second, firstAgain, secondAgain] = [await read(0), await read(1), await read(0), await read(1)];
  const replies = [first, second, firstAgain, secondAgain];
  const failed = replies.find(({ kind }) => kind === 'failed' || kind === 'unasked' || kind === 'strange');
  if (failed) return findings.unknown('order', cameOf(failed), replies);
  const names = (reply: Reply) => namesOf(reply.records, list.collection);
  const changes = [changeOf(names(first), names(firstAgain)), changeOf(names(second), names(secondAgain))];
  const rows = first.records.length + second.records.length;
  if (rows < 2) return findings.add('order', 'ok', `${list.collection.name} has a single row, which needs no order`, replies);
  if (changes.includes('reordered'))
    return findings.add(
      'order',
      'note',
      'the same pages have a different order each time: rows move from page to page while a list is read. consistency: repair (the default with files) reads it until all rows were seen; never set it to off',
      replies,
    );
  if (changes.includes('changed'))
    return findings.add(
      'order',
      'note',
      'the list changed between two reads; consistency: repair, the default with files, adds what a read missed',
      replies,
    );
  findings.add(
    'order',
    'ok',
    `two pages of ${Math.max(first.records.length, second.records.length)} rows had the same order when read twice`,
    replies,
  );
}

/** Determines how the service answers for a single record that exists, and for one that does not. */
export async function findSingle(asking: Requester, findings: Findings, subject: Subject, { firstPage }: Pages): Promise<void> {
  const { collection } = subject;
  const page = await asking.ask({ ...subject, page: firstPage, limit: 1 });
  const original = collection.fields[collection.id]?.original ?? collection.id;
  const id = page.records[0]?.[original];
  if (typeof id !== 'string' || id === '')
    return findings.unknown('single_record', `no row of ${collection.name} has an ${original}`, [page]);
  const [known, missing] = [await asking.ask({ ...subject, id }), await asking.ask({ ...subject, id: '999999999999999999' })];
  const replies = [page, known, missing];
  const failed = [known, missing].find(({ kind }) => kind === 'failed' || kind === 'unasked');
  if (failed) return findings.unknown('single_record', cameOf(failed), replies);
  if (known.records.length === 0)
    return findings.add(
      'single_record',
      'problem',
      `an existing record returns ${cameOf(known)}: lookup: by_id and fetch ID do not work here`,
      replies,
    );
  if (!known.records.every((record) => record[original] === id))
    return findings.add(
      'single_record',
      'problem',
      'asked for one record, the service returns others: lookup: by_id and fetch ID do not work here',
      replies,
    );
  const form = known.kind === 'single' ? 'an object' : `a list of ${known.records.length}`;
  const isNone = missing.evidence.status === 404 || ((missing.kind === 'rows' || missing.kind === 'none') && missing.records.length === 0);
  const none = `a missing one returns ${cameOf(missing)}`;
  findings.add('single_record', isNone ? 'ok' : 'problem', `an existing record returns ${form}, ${none}`, replies);
}
