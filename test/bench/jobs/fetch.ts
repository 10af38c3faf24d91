import { Agent } from 'node:http';
import got from 'got';
import { key, type Job } from '../job.js';

/**
 * Yields the leads page by page, in order, with `concurrency` requests ahead, using only got and `JSON.parse`. This is the floor for all comparisons,
 * and the hand-written loops read through it.
 */
export async function* leadPages({ baseUrl, limit, concurrency }: Job): AsyncGenerator<readonly Record<string, string>[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const client = got.extend({ agent: { http: agent }, responseType: 'buffer', retry: { limit: 0 } });
  const read = async (page: number): Promise<Record<string, string>[]> => {
    const { body } = await client.get(`${baseUrl}/api/leads`, { searchParams: { page, limit, rest_api_key: key } });
    return JSON.parse(body.toString());
  };
  const ahead = Array.from({ length: concurrency }, (_, index) => read(index + 1));
  for (let page = 1; ; page += 1) {
    const rows = await ahead.shift();
    if (rows === undefined || rows.length === 0) break;
    ahead.push(read(page + concurrency));
    yield rows;
  }
  await Promise.all(ahead);
  agent.destroy();
}
