import { amountOf } from '../core/index.js';
import { cameOf, type Findings } from './findings.js';
import type { SequentialList } from './measured-list.js';
import { declareEnd } from './own-words.js';
import type { Reply } from './reply.js';

/** Number of consecutive pages to read in search of the end of a list. */
const mostPages = 5;

/** Determines how a list ends in which each page names the next, if it is short enough. @param limit Page size. */
export async function findSequentialEnd(findings: Findings, list: SequentialList, limit: number): Promise<void> {
  const replies: Reply[] = [];
  const named = new Set<string>();
  let reply: Reply | undefined = await list.page(0, limit);
  for (let number = 1; number <= mostPages; number += 1) {
    replies.push(reply);
    if (reply.kind === 'failed' || reply.kind === 'unasked') return findings.unknown('end_of_list', cameOf(reply), replies);
    if (reply.kind !== 'rows')
      return findings.add(
        'end_of_list',
        'problem',
        `page ${number} returns ${cameOf(reply)}, which makes a run fail${declareEnd(reply)}`,
        replies,
      );
    const place: string = JSON.stringify(reply.next);
    if (reply.next === undefined)
      return findings.add('end_of_list', 'ok', `the list ends on page ${number}, which names no next page`, replies);
    if (named.has(place))
      return findings.add(
        'end_of_list',
        'problem',
        `page ${number} names the same next page as an earlier one; the list would never end`,
        replies,
      );
    if (reply.records.length === 0 && replies.at(-2)?.records.length === 0)
      return findings.add(
        'end_of_list',
        'problem',
        `pages ${number - 1} and ${number} have no rows, but each names a next page; declare end: empty_page`,
        replies,
      );
    named.add(place);
    reply = await list.after(reply, limit);
    if (!reply) throw new Error('a page that names the next one has one after it');
  }
  findings.add(
    'end_of_list',
    'note',
    `the list continues after ${mostPages} pages of ${amountOf(limit, 'row')}; its end was not reached`,
    replies,
  );
}
