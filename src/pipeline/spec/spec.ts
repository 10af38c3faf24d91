import type { z } from 'zod';
import { schema } from '../../core/index.js';
import { collectionNames } from '../../collections/index.js';
import { settings, windowHoldsConcurrency } from '../../options/index.js';
import { outputPath } from '../../sinks/index.js';
import { expectShape } from '../gates/expect.js';
import { duration, longerThanNothing, rate, tolerance } from './units.js';

const name = schema((z) => z.string().min(1));

const service = schema((z) =>
  z
    .strictObject({
      base_url: settings().baseUrl.describe('Everything before /api.'),
      auth: z
        .union([z.strictObject({ rest_api_key: name() }), z.strictObject({ authorized_uid: name(), authorized_rest_api_key: name() })])
        .describe('rest_api_key, or authorized_uid and authorized_rest_api_key; references only.'),
      limit: settings().limit.optional().describe('Rows per page, at most 500. Default 30.'),
      concurrency: settings().concurrency.optional().describe('Requests in flight. Default 4.'),
      window: settings().window.optional().describe('Pages in memory. Default twice the concurrency.'),
      first_page: settings()
        .firstPage.optional()
        .describe('Number of the first page, 0 or 1. Default 1, and then it is checked that there is none before it.'),
      max_pages: settings().maxPages.optional().describe('Most pages that a list may have; one more fails the run. Default: no limit.'),
      end_wait: duration()
        .refine((ms) => settings().endWaitMs.safeParse(ms).success, 'must be at most 35s')
        .optional()
        .describe(
          'How long the end of a list is let rest before the second look, when it may be an outage: where nothing is, and behind a full page. At most 35s, default 5s.',
        ),
      strict: z.boolean().optional().describe('Whether what would be a warning fails the run. Default false.'),
      deadline: longerThanNothing().optional().describe('Longest time that a run may take; then it fails. Default: no limit.'),
      rate_limit: rate().optional().describe('Requests that may start in a time, like 20/s.'),
      threads: settings()
        .threads.optional()
        .describe(
          'Threads that fetch beside the main one; the files are the same. Default 1, and 0 on a machine with one core or in a bundle without the file of the thread.',
        ),
      timeout: longerThanNothing().optional().describe('Time until an answer begins; all of it may take twice as long. Default 60s.'),
      max_page_bytes: settings().maxBodyBytes.optional().describe('Largest answer after decompression, in bytes. Default 67108864.'),
      retry: z
        .strictObject({
          attempts: settings().attempts.optional().describe('Attempts per request, the first one counted. Default 6.'),
          base: duration().optional().describe('First backoff. Default 500ms.'),
          cap: duration().optional().describe('Longest backoff. Default 30s.'),
        })
        .optional()
        .describe('Repetition of failed requests.'),
    })
    .refine(...windowHoldsConcurrency),
);

/** The shape of a pipeline file; steps and sinks are checked by their own definitions. */
export const pipelineShape = schema((z) =>
  z.strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'a name is made of letters, digits, dots, dashes and underscores')
      .describe('Name of the pipeline.'),
    service: service().optional().describe('The service. Default: from the environment, LEADSTREAM_BASE_URL and so on.'),
    from: z.enum(collectionNames).describe('The collection that is read.'),
    reveal: z.array(name()).optional().describe('Credential-like fields of it that are wanted all the same.'),
    on_error: z
      .enum(['reject', 'null', 'fail'])
      .optional()
      .describe('What becomes of a row that a step or sink cannot handle. Default reject.'),
    consistency: settings()
      .consistency.optional()
      .describe(
        'How the read is checked for rows that moved meanwhile: off, check (8 pages again), repair (further passes if these changed) or prove (further passes always). Default repair, and off when stdout is the only sink.',
      ),
    max_passes: settings()
      .maxPasses.optional()
      .describe('Most further passes; after them a list is unstable. Default 8, and 30 for a list that comes in another order each time.'),
    allow_unstable: z.boolean().optional().describe('Whether an unstable list is published all the same. Default false.'),
    spool: z
      .union([
        z.literal('off'),
        z.strictObject({
          max_age: duration().optional().describe('Age from which the pages of an interrupted run are read afresh. Default 6h.'),
        }),
      ])
      .optional()
      .describe(
        'Pages on disk, from which an interrupted run goes on, until they are older than max_age (default 6h); off: pages are not written, and every run reads everything.',
      ),
    steps: z.array(z.record(z.string(), z.unknown())).optional().describe('Steps of the chain, in order.'),
    to: z.array(z.record(z.string(), z.unknown())).min(1).describe('Where the rows go.'),
    rejects: z
      .strictObject({
        path: outputPath('File of the rejected rows.')
          .optional()
          .describe('File of the rejected rows; its path is like that of an output. Default: <first output>.rejects.ndjson.'),
        max: tolerance().optional().describe('More rejected rows than this, and nothing is published. Default 1%.'),
        rows: z.boolean().optional().describe('Whether the rejects hold the rows themselves. Default false.'),
      })
      .optional()
      .describe('The gate on rejected rows.'),
    expect: expectShape().optional().describe('What has to be true of the rows, or nothing is published.'),
    schema: z
      .enum(['evolve', 'freeze'])
      .optional()
      .describe(
        'What becomes of columns that differ from those of the last run, of outputs with a manifest: evolve publishes them (undeclared fields keep their column), freeze refuses. Default evolve.',
      ),
  }),
);

export type PipelineShape = z.output<ReturnType<typeof pipelineShape>>;
export type ServiceSpec = NonNullable<PipelineShape['service']>;
