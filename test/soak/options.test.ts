import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { LeadstreamError, loadPipeline, runPipeline } from '../../src/index.js';
import { probes } from '../support/option-probes.js';
import { called, calls, comparable, type Call, type Place } from '../support/public-calls.js';
import { serviceOf, testKey } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

/** An option as its type declares it, or an argument as a whole, whose path is empty. */
interface Option {
  readonly path: readonly string[];
  readonly isOptional: boolean;
  /** The probes that its type takes. */
  readonly accepts: readonly string[];
}

interface Parameter extends Omit<Option, 'path'> {
  readonly name: string;
  readonly options: readonly Option[];
}

interface Declared {
  readonly name: string;
  readonly parameters: readonly Parameter[];
}

const run = promisify(execFile);
const { stdout } = await run(process.execPath, ['test/support/declared-options.mjs'], { maxBuffer: 2 ** 24 });
const declared = JSON.parse(stdout) as readonly Declared[];

/** What no caller makes options for: questions about an error or a report, paths alone, and the parts of what is covered as a whole. */
const others = [
  ...['isRetryable', 'failedRunOf', 'summaryOf', 'writesOver', 'extensionsOf', 'readGroups', 'readManifest', 'standalone'],
  ...['GateError.keeping', 'SourceError.saying', 'RateLimiters.of', 'StallDetector.stage'],
  ...['CollectionStream.toReadable', 'CollectionStream.toWeb', 'CollectionStream.cached'],
  ...['accountsFromEnv', 'readAccounts', 'openDirectory', 'generate', 'startService', 'isFault'],
];

/** A place, with a table of two runs where a function works on one. */
async function placeFor(name: string): Promise<Place> {
  const { url, env } = await serviceOf({ users: [{ uid: '1' }, { uid: '2' }] });
  const [folder, other] = [await temporaryFolder(), await temporaryFolder()];
  const [table, file] = [join(other, 'lake/users'), join(other, 'p.yaml')];
  const text = [
    'name: p',
    'from: users',
    'service: { end_wait: 1ms, base_url: "${LEADSTREAM_BASE_URL}", auth: { rest_api_key: "${LEADSTREAM_REST_API_KEY}" } }',
    'steps: [select: [uid]]',
    `to: [{ parquet: { path: ${table}, keep: 1 } }]`,
  ].join('\n');
  await writeFile(file, text);
  const runs = /Table|Manifest|tableRuns/.test(name) ? 2 : 0;
  for (let times = 0; times < runs; times += 1) await runPipeline(await loadPipeline(file, { env, baseDir: folder }));
  return { folder, url, file, text, env, table };
}

/** Arguments with another value at a place; `missing` takes it out. */
function changed(given: readonly unknown[], index: number, path: readonly string[], value: unknown): readonly unknown[] {
  if (path.length === 0 && value === missing && index === given.length - 1) return given.slice(0, index);
  if (path.length === 0 && value === missing) return given.with(index, undefined);
  return given.with(index, within(given[index], path, value));
}

const missing = Symbol('missing');

function within(outer: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  const inner: Record<string, unknown> = { ...(outer as object) };
  inner[name] = within(inner[name], rest, value);
  if (inner[name] === missing) delete inner[name];
  return inner;
}

interface Outcome {
  readonly gave: string;
  readonly failure: unknown;
}

/** What a call comes to, with another value at one place, in a folder of its own. */
async function outcomeOf(name: string, call: Call, from: Place, index: number, path: readonly string[], value: unknown): Promise<Outcome> {
  const place = { ...from, folder: await temporaryFolder() };
  const put = value === probes['a text'] ? join(place.folder, 'no such word') : value;
  try {
    const given = await call.given(place);
    return { gave: told(await called(name, call, changed(given, index, path, put), place), place), failure: undefined };
  } catch (failure) {
    return { gave: told(String(failure), place), failure };
  }
}

const told = (outcome: unknown, { folder }: Place) =>
  comparable(outcome)
    .replaceAll(folder, 'FOLDER')
    .replaceAll(/\d{8}T\w+-\w+/g, 'RUN');

function optionsOf(parameters: readonly Parameter[]): readonly (Option & { readonly index: number })[] {
  return parameters.flatMap((parameter, index) =>
    parameter.name === 'context' ? [] : [{ ...parameter, path: [] }, ...parameter.options].map((option) => ({ ...option, index })),
  );
}

const covered = declared.flatMap(({ name, parameters }) => {
  const call = calls[name];
  return call === undefined ? [] : [{ name, call, options: optionsOf(parameters) }];
});

test('every public function that takes something has a call here, or is named as one without options', () => {
  expect(declared.map(({ name }) => name).toSorted()).toEqual([...Object.keys(calls), ...others].toSorted());
});

describe('an option that is undefined counts as not given', () => {
  test.each(covered.filter(({ options }) => options.some(({ isOptional }) => isOptional)))('by $name', async ({ name, call, options }) => {
    const place = await placeFor(name);
    for (const { index, path, isOptional } of options) {
      if (!isOptional) continue;
      const without = await outcomeOf(name, call, place, index, path, missing);
      const given = await outcomeOf(name, call, place, index, path, undefined);
      expect([path, given.gave]).toEqual([path, without.gave]);
    }
  });
});

/** Whether a parameter is one for whatever was thrown. */
const takesAnything = (accepts: readonly string[]): boolean => Object.keys(probes).every((probe) => accepts.includes(probe));

describe('an option of the wrong kind is refused by its name, and NaN is never a number', () => {
  test.each(covered)('by $name', async ({ name, call, options }) => {
    const place = await placeFor(name);
    const wrong: string[] = [];
    for (const { index, path, accepts } of options)
      for (const [probe, value] of Object.entries(probes)) {
        const { failure } = await outcomeOf(name, call, place, index, path, value);
        const isAccepted = accepts.includes(probe) && (probe !== 'NaN' || takesAnything(accepts));
        const problem = problemOf(failure, isAccepted, path.at(-1));
        if (problem !== undefined) wrong.push(`${[index, ...path].join('.')} as ${probe}: ${problem}`);
      }
    expect(wrong).toEqual([]);
  });
});

/** @param fits Whether the type takes the value: then it works, or is refused for what it says. */
function problemOf(failure: unknown, fits: boolean, name: string | undefined): string | undefined {
  if (failure === undefined) return fits ? undefined : 'it passes';
  if (!(failure instanceof LeadstreamError)) return `fails with ${failure instanceof Error ? String(failure) : typeof failure}`;
  if (failure.message.includes(testKey)) return `tells the key`;
  return fits || name === undefined || failure.message.includes(name.replace(/s$/, '')) ? undefined : `is not named: ${failure.message}`;
}
