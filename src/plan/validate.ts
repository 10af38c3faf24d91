import type { z } from 'zod';
import { getIn, schemaProblems, setIn } from '../options/index.js';
import type { Path } from './document.js';
import type { Problem } from './references.js';

type Issue = z.core.$ZodIssue;

/**
 * Checks a value of a pipeline file against a schema and reports each problem, with the nearest known name for an unknown key.
 *
 * Scalars of a file are text; where the schema requires a number or boolean, a text in that notation is converted.
 *
 * @returns The parsed value; `undefined` if it is invalid.
 */
export function validated<T>(schema: z.ZodType<T>, value: unknown, at: Path, problem: Problem): T | undefined {
  const spelled = spelledOut(schema, value);
  const result = schema.safeParse(spelled);
  if (result.success) return result.data;
  for (const { path, message, onKey } of schemaProblems(schema, spelled, at)) problem(path, message, onKey);
  return undefined;
}

/** Converts texts where the schema requires a number or a boolean. */
function spelledOut(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return value;
  const spelled = structuredClone(value);
  for (const issue of result.error.issues.flatMap(alternativesOf)) {
    if (issue.code !== 'invalid_type') continue;
    const converted = convert(issue.expected, getIn(spelled, issue.path));
    if (converted !== undefined && issue.path.length === 0) return converted;
    if (converted !== undefined) setIn(spelled, issue.path, converted);
  }
  return spelled;
}

/** Returns an issue, or those of all alternatives of a union. */
function alternativesOf(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  return issue.errors.flat().flatMap((inner) => alternativesOf({ ...inner, path: [...issue.path, ...inner.path] }));
}

function convert(expected: string, text: unknown): number | boolean | undefined {
  if (typeof text !== 'string') return undefined;
  if (expected === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  if ((expected === 'number' || expected === 'int') && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return undefined;
}
