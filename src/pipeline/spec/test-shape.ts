import type { z } from 'zod';
import { catalogue, exitCodes, hintAt, type RowCounts, schema, warningCatalogue, zod } from '../../core/index.js';
import { isFault } from '../../service/index.js';

/** A value as written in a file, which is text; editors may interpret it as a number or boolean. */
const scalar = schema((z) => z.union([z.string(), z.number(), z.boolean(), z.null()]));

/** The counts of the books, by their names in files. */
export const bookNames = {
  read: 'read',
  repaired: 'repaired',
  expanded: 'expanded',
  groups: 'groups',
  written: 'written',
  filtered: 'filtered',
  duplicates: 'duplicates',
  beyond_limit: 'beyondLimit',
  unmatched: 'unmatched',
  rejected: 'rejected',
  unchanged: 'unchanged',
  grouped: 'grouped',
} as const satisfies Readonly<Record<string, keyof RowCounts>>;

/** Accepts a code of a catalogue, which has too many for a message that lists them. */
function codeOf<C extends object>(codes: C) {
  const known = Object.keys(codes) as (keyof C & string)[];
  return zod().enum(known, { error: ({ input }) => `must be a code of the catalogue${hintAt(input, known)}` });
}

const rows = schema((z) => z.array(z.record(z.string(), scalar())));

/** A file that a test expects. */
export const expectedFileShape = schema((z) =>
  z
    .strictObject({
      rows: rows()
        .optional()
        .describe(
          'Its rows, in order: of a Parquet table, of CSV with commas and a header, or of JSON lines. Columns that are not named are not compared.',
        ),
      text: z.string().optional().describe('Its whole text.'),
      exists: z.boolean().optional().describe('Whether it exists; false for what a failed run must not leave behind.'),
    })
    .refine((file) => Object.keys(file).length > 0, 'needs rows, text or exists')
    .refine(
      ({ exists, rows, text }) => exists !== false || (rows === undefined && text === undefined),
      'a file that does not exist has no rows or text',
    ),
);

/** What a test expects of a run. */
export const expectationShape = schema((z) => {
  const books = Object.keys(bookNames) as [keyof typeof bookNames, ...(keyof typeof bookNames)[]];
  return z
    .strictObject({
      exit: z
        .number()
        .int()
        .refine((code) => Object.hasOwn(exitCodes, code), 'must be an exit code of a run')
        .optional()
        .describe('Exit code of the run. Default 0, or that of error.'),
      error: codeOf(catalogue).optional().describe('Code of the failure that ends the run, like E_GATE_EXPECT.'),
      message: z.string().min(1).optional().describe('Part of the message of that failure.'),
      warnings: z
        .array(codeOf(warningCatalogue))
        .optional()
        .describe('Codes of all warnings of the run except W_SOURCE_FIELD_GONE, in any order. Default: not compared.'),
      rows: rows()
        .optional()
        .describe(
          'The rows that leave the last step, in order, by their snake_case names. Values are compared as text, null is null. Columns that are not named are not compared.',
        ),
      books: z
        .partialRecord(z.enum(books), z.number().int().min(0))
        .optional()
        .describe('Row counts of each output, like { read: 3, written: 2 }, even if the run fails; others are not compared.'),
      files: z
        .record(z.string(), expectedFileShape())
        .optional()
        .describe('Written files, by the relative path of an output or of the rejects, as in the pipeline.'),
      stdout: z.string().optional().describe('Everything that is printed.'),
    })
    .refine((expected) => Object.keys(expected).length > 0, 'a test must expect something, like rows');
});

const instant = schema((z) =>
  z
    .string()
    .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, 'an instant is written like 2026-01-31T02:30:00Z')
    .refine(isInstant, 'there is no such instant'),
);

/** Refuses dates such as the 31st of February, which would become a day in March. */
function isInstant(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text.slice(0, -1));
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
  z
    .strictObject({
      name: z.string().min(1).describe('What the test shows.'),
      given: z
        .record(z.string(), z.array(z.record(z.string(), z.unknown())))
        .optional()
        .describe(
          'Rows of the service by collection, with the field names of the service or the column names. Other collections have no rows.',
        ),
      data: z
        .string()
        .min(1)
        .optional()
        .describe('Folder of CSV or JSON lines with rows of the service, as for serve --data; relative to the pipeline file.'),
      service: serviceFields().optional().describe('How the service of the test misbehaves.'),
      env: z
        .record(z.string(), z.string())
        .optional()
        .describe('Environment variables; no others are set. Credentials and the address of the service are made up.'),
      set: z.record(z.string(), z.string()).optional().describe('Values that replace those of the file, as for run --set.'),
      now: instant().optional().describe('When the run starts, like 2026-01-31T02:30:00Z. Default: the time of the test.'),
      expect: expectationShape().describe('The expected result of the run.'),
    })
    .refine(({ given, data }) => given !== undefined || data !== undefined, 'needs given or data: the rows of the service'),
);

export type TestShape = z.output<ReturnType<typeof testShape>>;
