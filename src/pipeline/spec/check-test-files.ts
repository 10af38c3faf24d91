import { isAbsolute, relative, resolve } from 'node:path';
import { unknownName } from '../../core/index.js';
import { getIn } from '../../options/index.js';
import { dayTemplate, filledPath, runTemplate } from '../../store/index.js';
import type { Checked } from './check.js';
import { escaped } from './collide.js';
import { unfilled } from './planned.js';
import type { TestShape } from './test-shape.js';

/** What a pipeline writes, and the folder that its paths resolve against. */
interface Written {
  /** Its name, if known. */
  readonly name: string | undefined;
  readonly outputs: Checked['outputs'];
  readonly baseDir: string;
}

/** Reports files that tests expect but no run writes, if the pipeline file alone determines what is written. */
export function checkTestFiles({ document, name: pipeline, tests = [], outputs, plan, problem }: Checked, baseDir: string): void {
  if (!plan) return;
  const asks = ['name', 'to', 'rejects'].some((key) => JSON.stringify(getIn(document.value, [key]) ?? null).includes('${'));
  tests.forEach((test, index) => {
    const isFixed = !asks && test.env === undefined && test.set === undefined;
    for (const name of Object.keys(test.expect.files ?? {})) {
      const wrong = isFixed || isAbsolute(name) ? fileProblem(name, { name: pipeline, outputs, baseDir }) : undefined;
      if (wrong !== undefined) problem(['tests', index, 'expect', 'files', name], wrong, true);
    }
  });
}

/** Describes the problems of files that a test expects but its run does not write. */
export function wrongFiles({ expect: { files = {} } }: TestShape, written: Written): readonly string[] {
  return Object.keys(files).flatMap((name) => fileProblem(name, written) ?? []);
}

function fileProblem(name: string, { name: pipeline = '', outputs, baseDir }: Written): string | undefined {
  if (isAbsolute(name)) return `${name} is absolute, but a test writes to its own folder; use the relative path of the output`;
  const paths = outputs.flatMap(({ path }) => path ?? []);
  const expected = resolve(baseDir, filledPath(name, unfilled(pipeline)) ?? name);
  if (paths.some((path) => isSame(path, expected))) return undefined;
  if (paths.length === 0) return `the pipeline writes no files, so it does not write ${name}`;
  return unknownName(
    'output',
    name,
    paths.map((path) => relative(baseDir, path)),
  );
}

/** Returns whether a path is that of an output, for any day and run. */
function isSame(output: string, expected: string): boolean {
  const pattern = escaped(output).replaceAll(escaped(dayTemplate), '\\d{4}-\\d{2}-\\d{2}').replaceAll(escaped(runTemplate), '[^/]+');
  return output === expected || new RegExp(`^${pattern}$`).test(expected);
}
