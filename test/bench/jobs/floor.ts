import type { Work } from '../job.js';
import { leadPages } from './fetch.js';

/** Reads all pages and discards them. */
export function prepare(): Promise<Work> {
  return Promise.resolve(async (job) => {
    let rows = 0;
    for await (const page of leadPages(job)) rows += page.length;
    return rows;
  });
}
