import type { z } from 'zod';
import { collectionNames } from '../collections/index.js';
import { schema, type Zod, origins, outcomes } from '../core/index.js';
import { credentialForms, mustHaveForm, type CredentialField, type Credentials } from '../http/index.js';
import { defaults, maxTimerMs, settings, usually, windowHoldsConcurrency } from '../options/index.js';
import { outputPath } from '../sinks/index.js';
import { expectShape } from './expect.js';
import { hookShape } from './hooks.js';
import { duration, longerThanNothing, pageRange, rate, tolerance, writtenDuration } from './units.js';
import { isFault } from '../service/index.js';

const name = schema((z) => z.string().min(1));

/** The shape of `service.auth`. The origin of a wrong key is reported later. */
export const authShape = schema((z) => {
  const shape: z.ZodType = z.union(
    credentialForms.map(({ fields }) => {
      const texts = Object.entries(fields).map(([name, field]) => [name, textOf(z, field)] as const);
      return z.strictObject(Object.fromEntries(texts));
    }),
    mustHaveForm,
  );
  // They are the objects of the forms, but the type system cannot follow the list of them.
  return (shape as z.ZodType<Credentials>)
    .optional()
    .describe(`${credentialForms.map(({ summary }) => summary).join(', or ')}. References only.`);
});

function textOf(z: Zod, { privacy, problem }: CredentialField): z.ZodType {
  const text = privacy === 'plain' ? z.string() : z.string().min(1, { abort: true });
  if (privacy === 'secret') return text;
  return text.superRefine((value, context) => {
    const message = problem(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
}

const service = schema((z) =>
  z
    .strictObject({
      base_url: settings()
        .baseUrl.optional()
        .describe('Everything before /api. It needs auth; without both, address and account come from the environment.'),
      auth: authShape(),
      limit: usually(settings().limit, defaults.limit).describe('Rows per page, at most 500.'),
      concurrency: usually(settings().concurrency, defaults.concurrency).describe('Requests in flight.'),
      window: settings()
        .window.optional()
        .describe('Pages in memory. Default twice the concurrency, and up to 16 times as many small pages.'),
      first_page: settings()
        .firstPage.optional()
        .describe(
          `Number of the first page, 0 or 1. Default ${defaults.firstPage}; then the run also checks that there is no page before it.`,
        ),
      max_pages: settings().maxPages.optional().describe('Maximum number of pages of a list; one more fails the run. Default: no limit.'),
      end_wait: usually(
        duration().refine((ms) => settings().endWaitMs.safeParse(ms).success, 'must be at most 35s'),
        writtenDuration(defaults.endWaitMs),
      ).describe('Wait before the second check of an end that may be an outage: an empty list, or nothing after a full page. At most 35s.'),
      strict: z.boolean().default(false).describe('Whether warnings fail the run.'),
      deadline: longerThanNothing()
        .refine((ms) => ms <= maxTimerMs, 'must be at most 596h')
        .optional()
        .describe('Maximum duration of a run, at most 596h, after which it fails. Default: no limit.'),
      rate_limit: rate().optional().describe('Maximum request rate, like 20/s.'),
      threads: settings()
        .threads.optional()
        .describe(
          'Extra threads that fetch. Default 1; 0 on a machine with one core, in a bundle without the worker file, or if threads are forbidden.',
        ),
      timeout: usually(longerThanNothing(), writtenDuration(defaults.timeoutMs)).describe(
        'Time until a response begins; the whole response may take twice as long.',
      ),
      max_page_bytes: usually(settings().maxPageBytes, defaults.maxPageBytes).describe(
        'Maximum size of a response after decompression, in bytes.',
      ),
      retry: z
        .strictObject({
          attempts: usually(settings().attempts, defaults.attempts).describe('Attempts per request, including the first.'),
          base: usually(duration(), writtenDuration(defaults.baseMs)).describe('First backoff.'),
          cap: usually(duration(), writtenDuration(defaults.capMs)).describe('Longest backoff.'),
        })
        .optional()
        .describe('Retries of failed requests.'),
    })
    .refine(windowHoldsConcurrency, { path: ['window'], message: 'must be at least the concurrency' }),
);

const spoolAge = '6h';

/** Names that paths may contain, too. */
export const pipelineName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Shape of a pipeline file. The definitions of steps and sinks check these. */
export const pipelineShape = schema((z) =>
  z.strictObject({
    name: z
      .string()
      .regex(pipelineName, 'a name consists of letters, digits, dots, dashes and underscores')
      .describe('Name of the pipeline.'),
    service: service().optional().describe('The service. Default: from the environment, LEADSTREAM_BASE_URL and so on.'),
    services: z
      .record(z.string().regex(/^[a-z][a-z0-9_]*$/, 'the name of a service may contain only a-z, 0-9 and _'), service())
      .optional()
      .describe('Several services by name, each like service, instead of it. Lists are then named like eu.leads, everywhere.'),
    collections: z.record(z.string(), z.unknown()).optional().describe('Your own collections, and further fields of others, by name.'),
    from: name().describe(`The collection that is read: ${collectionNames.join(', ')}, or one of your own.`),
    reveal: z.array(name()).optional().describe('Its secret fields to include.'),
    pages: pageRange()
      .optional()
      .describe('Only these pages of it are read, like 1-20, as a trial: such a run is partial, as one with a limit.'),
    since: z
      .strictObject({
        list: z.enum(['grows_at_end']).describe('How the list changes: new rows come after all others, and no row changes or goes.'),
        overlap: z.int().min(1).max(100).default(2).describe('How many pages of the last read are read again, and have to be the same.'),
        full_every: longerThanNothing().prefault('7d').describe('How often the whole list is read, to find what was missed.'),
      })
      .optional()
      .describe('Reads the end of a list that grows there, from before the end of the last read, instead of all of it.'),
    on_error: z.enum(['reject', 'null', 'fail']).default('reject').describe('What happens to a row that a step or sink cannot handle.'),
    consistency: settings()
      .consistency.optional()
      .describe(
        'How the read is checked for rows that moved: off, check (reads 8 pages and 8 borders again), repair (also the list, if these changed) or prove (always the list). Default repair; off if stdout is the only sink.',
      ),
    max_passes: settings()
      .maxPasses.optional()
      .describe(
        `Maximum number of further passes. Default ${defaults.maxPasses}; ${defaults.maxPassesUnordered} for a list whose order changes.`,
      ),
    on_duplicate_key: settings().onDuplicateKey,
    allow_unstable: z.boolean().default(false).describe('Whether to publish an unstable list anyway.'),
    spool: z
      .union([
        z.literal('off'),
        z.strictObject({
          max_age: duration().prefault(spoolAge).describe('Age from which the pages of an interrupted run are requested again.'),
        }),
      ])
      .prefault({})
      .describe(`Raw pages on disk, from which an interrupted run resumes until max_age (default ${spoolAge}); or off.`),
    steps: z.array(z.record(z.string(), z.unknown())).optional().describe('Steps of the chain, in order.'),
    to: z.array(z.record(z.string(), z.unknown())).min(1).describe('Where the rows go.'),
    rejects: z
      .strictObject({
        path: outputPath('File of the rejected rows.')
          .optional()
          .describe('File of the rejected rows. Default: <first output>.rejects.ndjson.'),
        max: tolerance().prefault('1%').describe('How many rows may be rejected; with more, nothing is published.'),
        rows: z.boolean().default(false).describe('Whether the rejects contain the rows themselves.'),
      })
      .prefault({})
      .describe('How many rows may be rejected, and where they go.'),
    store: z
      .strictObject({
        region: z.string().min(1).optional().describe('Region of the buckets. Default: that of the AWS SDK, as in AWS_REGION.'),
        endpoint: settings().baseUrl.optional().describe('Address of a store other than S3 itself, like http://localhost:9000.'),
        single_writer: z
          .boolean()
          .optional()
          .describe(
            'Accepts a store that overwrites objects in spite of conditions, or gives no ETag, which is safe only with one run at a time.',
          ),
        path_style: z
          .boolean()
          .optional()
          .describe('Whether URLs have the bucket in the path, not in the host name. Default: true with an endpoint.'),
      })
      .optional()
      .describe(
        'How paths like s3://bucket/leads.csv are reached. Credentials come from where the AWS SDK finds them, never from the file.',
      ),
    publish: z
      .literal('together')
      .optional()
      .describe(
        'Publishes all tables with this key at once, or none: plain tables directly below one folder, on this machine or a store. Default: each output by itself.',
      ),
    expect: expectShape().optional().describe('Conditions on the rows; if one fails, nothing is published.'),
    on_new_field: z
      .enum(['next_run', 'restart'])
      .default('next_run')
      .describe(
        'What happens when an undeclared field first appears after page 1: next_run gives it a column in the next run, restart starts this run again, once.',
      ),
    schema: z
      .enum(['evolve', 'freeze'])
      .default('evolve')
      .describe(
        'What happens when columns differ from those of the last run, for outputs with a manifest: evolve publishes them, freeze refuses.',
      ),
    on_success: hookShape().optional().describe('Whom to notify after a run published.'),
    on_failure: hookShape().optional().describe('Whom to notify after a run did not publish.'),
    tests: z.array(testShape()).optional().describe('Tests of the pipeline, which leadstream test runs.'),
  }),
);

export type PipelineShape = z.output<ReturnType<typeof pipelineShape>>;
export type ServiceSpec = NonNullable<PipelineShape['service']>;

/** Rows by column, in which `null` is null; editors may take a value, which is text in a file, for a number or flag. */
const rows = schema((z) => z.array(z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]).transform(withNulls))));

function withNulls<T>(value: T): T | null {
  return value === 'null' ? null : value;
}

export const expectedFileShape = schema((z) =>
  z.strictObject({
    rows: rows()
      .optional()
      .describe(
        'Its rows, in order: of a Parquet table, CSV with commas and a header, or JSON lines. Only the named columns are compared.',
      ),
    text: z.string().optional().describe('Its whole text.'),
    exists: z.boolean().default(true).describe('Whether it exists; false for what a failed run must not leave behind.'),
  }),
);

export const expectationShape = schema((z) =>
  z.strictObject({
    error: z.string().optional().describe('Code of the failure that ends the run, like E_GATE_EXPECT. Default: it publishes.'),
    rows: rows().optional().describe('The rows that leave the last step, in order, as text or null. Only the named columns are compared.'),
    books: z
      .partialRecord(z.enum([...origins, ...outcomes.map(bookName)]), z.int().min(0))
      .optional()
      .describe('Row counts of each output, like { read: 3, written: 2 }, even if the run fails.'),
    files: z
      .record(z.string(), expectedFileShape())
      .optional()
      .describe('Written files, by the relative path of an output or of the rejects, as in the pipeline.'),
    stdout: z.string().optional().describe('Everything that is printed.'),
  }),
);

export function bookName<C extends string>(count: C): C | 'beyond_limit' {
  return count === 'beyondLimit' ? 'beyond_limit' : count;
}

export const testShape = schema((z) =>
  z.strictObject({
    name: z.string().min(1).describe('What the test shows.'),
    given: z
      .record(z.string(), z.array(z.record(z.string(), z.unknown().transform(withNulls))))
      .describe('Rows of the service by collection, by field or column names. Other collections have no rows.'),
    service: z
      .strictObject({
        faults: z
          .array(z.string().refine(isFault, 'must be a fault of serve, like 503@page=1,times=1'))
          .describe('As for serve --fault, like 503@page=1,times=1.'),
      })
      .optional()
      .describe('How the service of the test misbehaves.'),
    env: z
      .record(z.string(), z.string())
      .optional()
      .describe('Environment variables; no others are set. Credentials and the address of the service are made up.'),
    set: z.record(z.string(), z.string()).optional().describe('Values that replace those of the file, as for run --set.'),
    now: z
      .string()
      .refine((text) => z.iso.datetime().safeParse(text).success, 'an instant is written like 2026-01-31T02:30:00Z')
      .optional()
      .describe('When the run starts, like 2026-01-31T02:30:00Z. Default: the time of the test.'),
    expect: expectationShape().describe('The expected result of the run.'),
  }),
);

export type TestShape = z.output<ReturnType<typeof testShape>>;
