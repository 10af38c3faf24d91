/** Outcomes of requests that were made in one way. */
export interface Sample {
  readonly requests: number;
  readonly failed: number;
}

/**
 * How likely it is that so many of the failures, or more, fell on the first sample by chance, if both samples fail equally often: the
 * one-sided exact test of Fisher.
 *
 * @returns A probability, 0 to 1.
 *
 * @example
 * chanceOf({ requests: 8, failed: 4 }, { requests: 35, failed: 0 }); // 0.0006: half of them fails for a reason
 * chanceOf({ requests: 8, failed: 1 }, { requests: 35, failed: 0 }); // 0.19
 */
export function chanceOf(first: Sample, second: Sample): number {
  const failed = first.failed + second.failed;
  const most = Math.min(first.requests, failed);
  let sum = 0;
  for (let count = first.failed; count <= most; count += 1)
    sum += Math.exp(
      logChoose(first.requests, count) + logChoose(second.requests, failed - count) - logChoose(first.requests + second.requests, failed),
    );
  return Math.min(1, sum);
}

/** Logarithm of the number of ways to choose `count` of `all`; of none it is that of 0. */
function logChoose(all: number, count: number): number {
  if (count > all) return -Infinity;
  let sum = 0;
  for (let index = 1; index <= count; index += 1) sum += Math.log((all - count + index) / index);
  return sum;
}
