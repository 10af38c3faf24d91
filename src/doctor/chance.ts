/** Outcomes of requests made in the same way. */
export interface Sample {
  readonly requests: number;
  readonly failed: number;
}

/**
 * Returns the probability that this many failures or more hit the first sample by chance, if both samples fail equally often: Fisher's one-sided exact test.
 *
 * @returns A probability from 0 to 1.
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

/** Logarithm of the number of ways to choose `count` of `all`; that of 0 if there are none. */
function logChoose(all: number, count: number): number {
  if (count > all) return -Infinity;
  let sum = 0;
  for (let index = 1; index <= count; index += 1) sum += Math.log((all - count + index) / index);
  return sum;
}
