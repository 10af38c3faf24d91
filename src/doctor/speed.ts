import { amountOf } from '../core/index.js';
import type { Diagnosis } from './diagnosis.js';
import { cameOf, type Findings } from './findings.js';
import type { MeasuredList } from './measured-list.js';
import { sizeParameter } from './own-words.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

const samples = 3;

/** Sizes of pages. */
export interface PageSize {
  /** Maximum number of rows per page. */
  readonly limit: number;
  readonly honoursLimit: boolean;
  /** Fixed number of rows per page, if the requested size has no effect. */
  readonly rows: number;
}

/** Measures how long pages of several sizes take. */
export async function measureLatency(
  asking: Requester,
  findings: Findings,
  list: MeasuredList,
  { limit, honoursLimit, rows }: PageSize,
): Promise<Diagnosis['latency']> {
  const sizes = honoursLimit ? [...new Set([1, 30, 100, limit].filter((size) => size <= limit))].sort((a, b) => a - b) : [rows];
  const [latency, replies]: [{ limit: number; ms: number; requests: number }[], Reply[]] = [[], []];
  for (const size of sizes) {
    const { collection, path } = list;
    const asked = { collection, path, limit: size };
    let unfit: Reply | undefined;
    while (asking.timed(asked).length < samples && unfit === undefined) {
      const reply = await list.page(0, size);
      if (reply.kind !== 'rows' || reply.records.length !== size) unfit = reply;
    }
    const timed = asking.timed(asked);
    if (timed.length > 0) latency.push({ limit: size, ms: median(timed.map(({ evidence }) => evidence.ms)), requests: timed.length });
    replies.push(...timed, ...(unfit ? [unfit] : []));
  }
  const told = latency.map(({ limit: size, ms }) => `${sizeIn(list, size)}: ${ms} ms`).join(', ');
  if (latency.length === 0) findings.unknown('latency', replies[0] ? cameOf(replies[0]) : asking.exhausted, replies);
  else findings.add('latency', 'ok', `median of ${latency.map(({ requests }) => requests).join(', ')} requests: ${told}`, replies);
  return latency;
}

function sizeIn({ collection }: MeasuredList, rows: number): string {
  const parameter = sizeParameter(collection);
  return parameter === 'none' ? amountOf(rows, 'row') : `${parameter}=${rows}`;
}

/** Returns the median, the upper one for an even number of values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error('no values have a median');
  return middle;
}
