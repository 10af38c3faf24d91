import type { z } from 'zod';
import { schema, version } from '../core/index.js';
import { untagged } from '../json/index.js';
import type { AddedFile } from '../lake/index.js';
import { getIn } from '../options/index.js';
import { accountsOf, type Pipeline } from '../plan/index.js';
import { sha256Text } from '../store/index.js';

export const planKey = 'plan.json';
export const reportKey = 'report.json';

export function resultKey(index: number): string {
  return `parts/${index}.json`;
}

const count = schema((z) => z.number().int().nonnegative());
const counts = schema((z) => z.record(z.string(), count()));
const stored = schema((z) => z.object({ key: z.string(), bytes: count(), sha256: z.string() }));

/** An object of a plan, which only its documents name. */
export type StoredPart = z.output<ReturnType<typeof stored>>;

export const planShape = schema((z) =>
  z.object({
    version: z.literal(1),
    run: z.string().regex(/^[\w-]+$/),
    pipeline: z.string(),
    /** What has to be the same for every process; of secrets, some bits of a digest. */
    of: z.record(z.string(), z.string()),
    started_at: z.iso.datetime(),
    /** `TableVersion.sequence` that the run begins with, by sink. */
    bases: z.record(z.string(), z.number()),
    /** Number of the first page, rows of a page, and of the list. */
    ...{ first_page: count(), limit: count(), rows: count() },
    /** Digest of the key of the first row of the page before the tail, in decimal digits: none was deleted if it is not before its place. */
    anchor: z.string(),
    /** Positions of rows; the tail follows the last one. */
    ranges: z.array(z.object({ from: count(), to: count() })).min(1),
    /** How many shards were wanted; those beyond the ranges have nothing to do. */
    shards: count(),
    /** How many shards are expected to run at a time. */
    parallel: count(),
    undeclared: z.array(z.object({ name: z.string(), original: z.string() })),
    /** Of joins, by step; `consistency` was made by `newConsistency`. */
    sides: z.array(z.object({ at: z.string(), rows: count(), consistency: z.unknown(), stored: stored() })),
  }),
);

/** What all processes of a run have to know: `plan.json`. */
export type ShardPlan = z.output<ReturnType<typeof planShape>>;

const resultShape = schema((z) =>
  z.object({
    attempt: z.number(),
    pages: count(),
    rows: count(),
    /** As `countsOf` returns them. */
    counts: z.array(counts()),
    /** By sink. */
    files: z.custom<ReadonlyMap<string, readonly AddedFile[]>>((value) => value instanceof Map),
    findings: z.object({ unknown: counts(), missing: counts(), notText: counts(), present: z.array(z.string()) }),
    ...{ keys: stored(), borders: stored(), rejects: count() },
  }),
);

/** What a shard did, which exists only through this object: `parts/<index>.json`. */
export type ShardResult = z.output<ReturnType<typeof resultShape>>;

/** Returns what has to be the same for every process of a run. */
export function identityOf(pipeline: Pipeline): Readonly<Record<string, string>> {
  const { name, fingerprint, hmacKey = '' } = pipeline;
  const maskKey = sha256Text(hmacKey).slice(0, 4);
  const outputs = pipeline.plan.sinks.map(({ output, config }) => output ?? getIn(config, ['catalog', 'name']));
  return {
    version,
    pipeline: name,
    'pipeline file': fingerprint,
    'list of outputs': sha256Text(JSON.stringify(outputs)),
    account: accountsOf(pipeline),
    LEADSTREAM_HMAC_KEY: maskKey,
  };
}

/** Returns a result, unless there is none, or only what is left of it after the commit. */
export function resultIn(text: string): ShardResult | undefined {
  return text === '' ? undefined : resultShape().safeParse(untagged(text)).data;
}
