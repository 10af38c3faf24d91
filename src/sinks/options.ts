import { schema, zod, type Column, SinkError, type OutputOptions, unknownName } from '../core/index.js';
import { distinct } from '../options/index.js';
import { absolutePath, filledPath, isRemote, missingSDK, pathProblem } from '../store/index.js';
import type { OutputPlace, SinkContext, SinkPlan } from './sink.js';

export const naming = (fallback: OutputOptions['naming']) =>
  zod().enum(['original', 'snake_case']).default(fallback).describe(`Column names as the service writes them, or in snake_case.`);

export const types = (fallback: 'typed' | 'text') =>
  zod()
    .enum(['typed', 'text'])
    .default(fallback)
    .describe(`\`typed\` casts every column to its declared type, \`text\` keeps the service's text.`);

export const onError = schema((z) =>
  z
    .enum(['reject', 'null', 'fail'])
    .optional()
    .describe("A value that does not cast rejects its row, becomes null, or fails the run. Default: the pipeline's."),
);

export const columns = schema((z) =>
  distinct(z.array(z.string().min(1)).min(1))
    .readonly()
    .optional()
    .describe('Columns to write, by their snake_case names, in this order. Default: all.'),
);

export const where = schema((z) =>
  z.string().min(1).optional().describe('Condition (CEL) of the rows that are written; others count as filtered. Default: all rows.'),
);

export const permissions = schema((z) =>
  z
    .string()
    .regex(/^0?[4-7][0-7]{2}$/, 'permissions are written in octal, like 0640, and let the owner read')
    .default('0600')
    .transform((text) => Number.parseInt(text, 8))
    .describe('Who may read the files, in octal like 0640; folders created for them get matching permissions.'),
);

export const textOptions = () => ({
  naming: naming('original'),
  types: types('text'),
  columns: columns(),
  where: where(),
  on_error: onError(),
});

export const fileOptions = () => ({ path: outputPath('File to write.'), ...textOptions(), permissions: permissions() });

export function checkColumns(wanted: readonly string[] | undefined, arriving: readonly Column[], plan: SinkPlan): void {
  wanted?.forEach((name, index) => requireArriving(name, ['columns', index], arriving, plan));
}

export function requireArriving(name: string, path: readonly (string | number)[], arriving: readonly Column[], plan: SinkPlan): void {
  const names = arriving.map((column) => column.name);
  if (!names.includes(name)) plan.problem(path, unknownName('column', name, names));
}

export const outputPath = (what: string) =>
  zod()
    .string()
    .min(1)
    .superRefine((path, context) => {
      const message = pathProblem(path) ?? (isRemote(path) ? missingSDK() : undefined);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .describe(
      `${what} Relative paths resolve against the working directory, s3://BUCKET/NAME is an object; {{ run.date }}, {{ run.id }} and {{ pipeline }} stand for the UTC day on which the run was first started, its id, and the name of the pipeline.`,
    );

/** Returns the absolute path of an output. @throws {SinkError} `E_SINK_CONFIG` if a name in braces could lead out of the path. */
export function outputAt(path: string, { baseDir, names }: OutputPlace): string {
  const filled = filledPath(path, names);
  if (filled !== undefined) return absolutePath(baseDir, filled);
  throw new SinkError('E_SINK_CONFIG', `${path}: a name in a path may contain only letters, digits, dots, dashes and underscores`);
}

export function outputPlaceOf({ baseDir, pipeline, runId, runDate }: SinkContext): OutputPlace {
  return { baseDir, names: { pipeline, 'run.id': runId, 'run.date': runDate() } };
}
