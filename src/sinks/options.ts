import type { z } from 'zod';
import { nearest, schema, zod, type Column, SinkError, type Naming } from '../core/index.js';
import { distinct, optionProblems } from '../options/index.js';
import { outputPath } from './output-path.js';
import type { SinkPlan } from './sink.js';

/** The options that sinks share. Each sink chooses its own defaults. */
export const filePath = schema(() => outputPath('File to write.'));

export const naming = (fallback: Naming) =>
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
    .describe(
      "What happens to a row with a value that does not cast: it is rejected, the value becomes null, or the run fails. Default: the pipeline's on_error.",
    ),
);

export const columns = schema((z) =>
  distinct(z.array(z.string().min(1)).min(1))
    .readonly()
    .optional()
    .describe('Columns to write, by their snake_case names, in this order. Default: all.'),
);

export const permissions = schema((z) =>
  z
    .string()
    .regex(/^0?[4-7][0-7]{2}$/, 'permissions are written in octal, like 0640, and let the owner read')
    .default('0600')
    .transform((text) => Number.parseInt(text, 8))
    .describe('Who may read the files, in octal like 0640; folders created for them get matching permissions.'),
);

/** Checks that the columns named by a sink reach it. */
export function checkColumns(wanted: readonly string[] | undefined, arriving: readonly Column[], plan: SinkPlan): void {
  wanted?.forEach((name, index) => requireArriving(name, ['columns', index], arriving, plan));
}

/** Reports a column that does not reach the sink, suggesting the nearest one that does. */
export function requireArriving(name: string, path: readonly (string | number)[], arriving: readonly Column[], plan: SinkPlan): void {
  const names = arriving.map((column) => column.name);
  if (names.includes(name)) return;
  const step = plan.gone?.get(name);
  if (step !== undefined) return plan.problem(path, `column '${name}' does not reach this sink: ${step} does not pass it on`);
  const near = nearest(name, names);
  plan.problem(path, `unknown column '${name}'${near === undefined ? '' : `, did you mean '${near}'?`}`);
}

/**
 * Checks the options of a sink opened in code.
 *
 * @throws {SinkError} `E_SINK_CONFIG` with every problem.
 */
export function checked<T>(at: string, config: () => z.ZodType<T>, options: unknown): T {
  const result = config().safeParse(options);
  if (result.success) return result.data;
  throw new SinkError('E_SINK_CONFIG', `${at}: ${optionProblems(config(), options).join('; ')}`);
}
