import type { z } from 'zod';
import { catalogue, exitCodes, hintAt, type RowCounts, schema, warningCatalogue, zod } from '../../core/index.js';

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
          'Its rows, in their order: of a Parquet table, of CSV with commas and a header, or of JSON lines. Columns that are not named are not compared.',
        ),
      text: z.string().optional().describe('Its whole text.'),
      exists: z.boolean().optional().describe('Whether it is there; false for what a failed run must not leave.'),
    })
    .refine((file) => Object.keys(file).length > 0, 'needs rows, text or exists')
    .refine(({ exists, rows, text }) => exists !== false || (rows === undefined && text === undefined), 'what is not there has no rows'),
);

/** What a test expects of a run. */
export const expectationShape = schema((z) => {
  const books = Object.keys(bookNames) as [keyof typeof bookNames, ...(keyof typeof bookNames)[]];
  return z
    .strictObject({
      exit: z
        .number()
        .int()
        .refine((code) => Object.hasOwn(exitCodes, code), 'is no exit code of a run')
        .optional()
        .describe('Exit code of the run. Default 0, or that of error.'),
      error: codeOf(catalogue).optional().describe('Code of the failure that ends the run, like E_GATE_EXPECT.'),
      message: z.string().min(1).optional().describe('A part of the message of that failure.'),
      warnings: z
        .array(codeOf(warningCatalogue))
        .optional()
        .describe('Codes of the warnings of the run, all of them but W_SOURCE_FIELD_GONE, in any order. Default: not compared.'),
      rows: rows()
        .optional()
        .describe(
          'The rows that leave the last step, in their order, by their snake_case names. Values are compared as text, null is null. Columns that are not named are not compared.',
        ),
      books: z
        .partialRecord(z.enum(books), z.number().int().min(0))
        .optional()
        .describe(
          'Counts of rows in the books of each output, like { read: 3, written: 2 }, also of a run that fails; others are not compared.',
        ),
      files: z
        .record(z.string(), expectedFileShape())
        .optional()
        .describe('What is written, by the relative path of an output or of the rejects, as the pipeline names it.'),
      stdout: z.string().optional().describe('The whole text that is printed.'),
    })
    .refine((expected) => Object.keys(expected).length > 0, 'a test has to expect something, like rows');
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
    faults: z.array(z.string()).optional().describe('As serve --fault has them, like 503@page=1,times=1.'),
    quirks: z.array(z.string()).optional().describe('As serve --quirk has them, like cap=2.'),
    drift: z.string().optional().describe('As serve --drift has it, like every=2,changes=delete.'),
    seed: z.number().int().min(0).default(1).describe('Decides what these leave to chance.'),
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
        .describe('Rows of the service by collection, with its own names of the fields or those of columns. Others have no rows.'),
      data: z
        .string()
        .min(1)
        .optional()
        .describe('Folder of CSV or JSON lines with rows of the service, as serve --data takes it; relative to the pipeline file.'),
      service: serviceFields().optional().describe('How the service of the test differs from an honest and quiet one.'),
      env: z
        .record(z.string(), z.string())
        .optional()
        .describe('Variables of the environment; there are no others. Credentials and the address of the service are made up.'),
      set: z.record(z.string(), z.string()).optional().describe('Values in place of those of the file, as run --set has them.'),
      now: instant().optional().describe('When the run starts, like 2026-01-31T02:30:00Z. Default: the time of the test.'),
      expect: expectationShape().describe('What the run has to come to.'),
    })
    .refine(({ given, data }) => given !== undefined || data !== undefined, 'needs given or data: rows that the service has'),
);

export type TestShape = z.output<ReturnType<typeof testShape>>;
