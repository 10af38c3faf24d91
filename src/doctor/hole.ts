import type { Findings } from './findings.js';
import type { NumberedList } from './measured-list.js';
import type { Requester } from './requester.js';

/**
 * Checks for a page without rows that is followed by others, which ends every run. Looks only where the pages read so far raise doubts: an empty page
 * came after a full one, or before one with rows.
 */
export async function findHole(asking: Requester, findings: Findings, list: NumberedList): Promise<void> {
  const pages = asking.pages({ collection: list.collection, path: list.path });
  const doubtful = doubtfulPage(pages.filter(({ page }) => page >= list.firstPage));
  if (doubtful === undefined) return;
  const { page, limit } = doubtful;
  const distance = page - list.firstPage;
  const [again, behind] = [await list.page(distance, limit), await list.page(distance + 1, limit)];
  if (again.kind !== 'rows' || again.records.length > 0 || behind.records.length === 0) return;
  const message = `page ${page} is empty each time, but page ${page + 1} has rows: a run cannot know where such a list ends, and fails with E_SOURCE_ORDER`;
  findings.correct('order', 'problem', message, [again, behind]);
}

type Page = ReturnType<Requester['pages']>[number];

function doubtfulPage(pages: readonly Page[]): Page | undefined {
  return pages.find(({ page, limit, rows }) => {
    if (rows > 0) return false;
    const others = pages.filter((other) => other.limit === limit && other.rows > 0);
    return others.some((other) => other.page > page || (other.page === page - 1 && other.rows === limit));
  });
}
