import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { catalogue, type ErrorCode } from '../../src/core/catalogue.js';
import { exitCodes, failureOf } from '../../src/core/index.js';
import { GateError, LeadstreamError, SinkError, SourceError, SpecError, StepError } from '../../src/core/errors.js';
import { reasonOf } from '../../src/core/thrown.js';

const entries = Object.entries(catalogue);
const source = fileURLToPath(new URL('../../src', import.meta.url));

/** The text of every source file but the catalogue's own. */
function sources(): string {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && file !== 'catalogue.ts')
    .map((file) => readFileSync(join(source, file), 'utf8'))
    .join('\n');
}

test.each(entries)('%s has a status that is explained, and says what to do next in a sentence', (_code, { exit, help }) => {
  expect(Object.keys(exitCodes)).toContain(String(exit));
  expect(help).toMatch(/^[A-Z`].*\.$/);
});

test.each([
  [new SinkError('E_SINK_PATH', 'no'), { code: 'E_SINK_PATH', message: 'no', ...statusOf('E_SINK_PATH') }],
  [Object.assign(new Error('no'), { code: 'EMFILE' }), { code: 'E_RUN_FILES', message: 'no', ...statusOf('E_RUN_FILES') }],
  [new TypeError('no'), { code: 'E_RUN_FAILED', message: 'TypeError: no', ...statusOf('E_RUN_FAILED') }],
  ['no', { code: 'E_RUN_FAILED', message: 'something unknown was thrown', ...statusOf('E_RUN_FAILED') }],
])('what was thrown, %s, is told by a code with its status and help', (thrown, told) => {
  expect(failureOf(thrown)).toMatchObject(told);
});

function statusOf(code: ErrorCode) {
  const { exit, help } = catalogue[code];
  return { exit, help };
}

test('every code of the catalogue is used', () => {
  const text = sources();
  const unused = Object.keys(catalogue).filter((code) => !new RegExp(`\\b${code}\\b`).test(text));
  expect(unused).toEqual([]);
});

test('an error knows exit status, retry and help of its code', () => {
  const error = new SourceError('E_SOURCE_UNAVAILABLE', 'transient', 'no answer', { status: 503, retryAfterMs: 1000 });
  expect(error).toMatchObject({ exit: 69, retry: true, kind: 'transient', status: 503, retryAfterMs: 1000 });
  expect(error.help).toBe(catalogue.E_SOURCE_UNAVAILABLE.help);
});

test.each([
  ['LeadstreamError', new LeadstreamError('E_USAGE', 'x')],
  ['StepError', new StepError('E_STEP_FIELD', 'x')],
  ['SinkError', new SinkError('E_SINK_PATH', 'x')],
  ['GateError', new GateError('E_GATE_MATCH', 'x')],
  ['SourceError', new SourceError('E_SOURCE_AUTH', 'permanent', 'x')],
  ['SpecError', new SpecError('E_SPEC_YAML', 'x.yaml', [])],
] as const)('%s is a LeadstreamError that bears its name', (name, error) => {
  expect(error).toBeInstanceOf(LeadstreamError);
  expect(error.name).toBe(name);
});

test('a SpecError has one FILE:LINE:COLUMN message line per problem', () => {
  const issues = [
    { message: 'one', line: 3, column: 5 },
    { message: 'two', line: 9, column: 1 },
  ];
  const error = new SpecError('E_SPEC_INVALID', 'p.yaml', issues);
  expect(error.message).toBe('p.yaml:3:5 one\np.yaml:9:1 two');
  expect(error.issues).toEqual(issues);
});

test('an error keeps its cause', () => {
  const cause = new Error('disk');
  expect(new SinkError('E_SINK_WRITE', 'x', { cause }).cause).toBe(cause);
});

test.each<[unknown, string]>([
  [new Error('disk full'), 'disk full'],
  ['thrown text', 'thrown text'],
  [undefined, 'unknown failure'],
  [{ secret: 'x' }, 'unknown failure'],
])('the reason of %p is %j', (thrown, reason) => {
  expect(reasonOf(thrown)).toBe(reason);
});

test('codes are a closed type', () => {
  const code: ErrorCode = 'E_USAGE';
  // @ts-expect-error A code that the catalogue does not have.
  const stranger: ErrorCode = 'E_STRANGER';
  expect([code in catalogue, stranger in catalogue]).toEqual([true, false]);
});
