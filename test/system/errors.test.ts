import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { catalogue, type ErrorCode } from '../../src/core/catalogue.js';
import { failureOf } from '../../src/core/index.js';
import { SinkError } from '../../src/core/errors.js';

const source = fileURLToPath(new URL('../../src', import.meta.url));

/** The text of every source file but the catalogue's own. */
function sources(): string {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && file !== 'catalogue.ts')
    .map((file) => readFileSync(join(source, file), 'utf8'))
    .join('\n');
}

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
