import type { z } from 'zod';
import { origins, outcomes, schema } from '../core/index.js';
import { isFault } from '../service/index.js';

/** Rows by column; editors may take a value, which is text in a file, for a number or flag. */
const rows = schema((z) => z.array(z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))));

/** A file that a test expects. */
export const expectedFileShape = schema((z) =>
  z.strictObject({
    rows: rows()
      .optional()
      .describe(
        'Its rows, in order: of a Parquet table, of CSV with commas and a header, or of JSON lines. Only the named columns are compared.',
      ),
    text: z.string().optional().describe('Its whole text.'),
    exists: z.boolean().default(true).describe('Whether it exists; false for what a failed run must not leave behind.'),
  }),
);

/** What a test expects of a run. */
export const expectationShape = schema((z) =>
  z.strictObject({
    error: z.string().optional().describe('Code of the failure that ends the run, like E_GATE_EXPECT. Default: it publishes.'),
    rows: rows()
      .optional()
      .describe(
        'The rows that leave the last step, in order, by their snake_case names. Values are compared as text, null is null. Only the named columns are compared.',
      ),
    books: z
      .partialRecord(z.enum([...origins, ...outcomes.map(bookName)]), z.int().min(0))
      .optional()
      .describe('Row counts of each output, like { read: 3, written: 2 }, even if the run fails; others are not compared.'),
    files: z
      .record(z.string(), expectedFileShape())
      .optional()
      .describe('Written files, by the relative path of an output or of the rejects, as in the pipeline.'),
    stdout: z.string().optional().describe('Everything that is printed.'),
  }),
);

/** Returns the name of a count of the books in a file. */
export function bookName<C extends string>(count: C): C | 'beyond_limit' {
  return count === 'beyondLimit' ? 'beyond_limit' : count;
}

const serviceFields = schema((z) =>
  z.strictObject({
    faults: z
      .array(z.string().refine(isFault, 'must be a fault of serve, like 503@page=1,times=1'))
      .describe('As for serve --fault, like 503@page=1,times=1.'),
  }),
);

/** The schema of a test of a pipeline. */
export const testShape = schema((z) =>
  z.strictObject({
    name: z.string().min(1).describe('What the test shows.'),
    given: z
      .record(z.string(), z.array(z.record(z.string(), z.unknown())))
      .describe(
        'Rows of the service by collection, with the field names of the service or the column names. Other collections have no rows.',
      ),
    service: serviceFields().optional().describe('How the service of the test misbehaves.'),
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
