import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limitReached } from '../../../src/core/index.js';
import { start } from '../../support/cli.js';
import { pipelineText, service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const main = fileURLToPath(new URL('../../../dist/cli/main.cjs', import.meta.url));

/** Runs a pipeline by the built command, under a limit of the shell. */
async function runUnder(limit: string) {
  const [from, cwd] = [await service(), await temporaryFolder()];
  await writeFile(join(cwd, 'p.yaml'), pipelineText('from: users\nto: [{ csv: { path: users.csv } }]'));
  const script = `ulimit ${limit} && exec "$0" "$@"`;
  const ended = await start('sh', ['-c', script, process.execPath, main, 'run', 'p.yaml'], { cwd, env: from.env }).finished;
  return { ...ended, published: (await readdir(cwd)).includes('users.csv') };
}

/** Some versions of Node get along with it; then there is nothing to tell. */
function expectTold({ code, stderr, published }: Awaited<ReturnType<typeof runUnder>>, name: string): void {
  if (code === 0) return expect(published).toBe(true);
  expect({ code, stderr, published }).toEqual({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`^leadstream: ${name}: `)),
    published: false,
  });
}

test('too few open files (ulimit -n) are told by their name', async () => {
  expectTold(await runUnder('-n 64'), 'E_RUN_FILES');
});

test('too little memory for WebAssembly (ulimit -v) is told by its name', async () => {
  expectTold(await runUnder('-v 9000000'), 'E_RUN_MEMORY');
});

const coded = (code: string) => Object.assign(new Error(`${code}: as the system says it, open '/x'`), { code });

const threadFailing = (reason: string) =>
  Object.assign(new Error(`Worker initialization failure: ${reason}`), { code: 'ERR_WORKER_INIT_FAILED' });
test.each([
  ['EMFILE', coded('EMFILE'), 'E_RUN_FILES'],
  ['ENOMEM', coded('ENOMEM'), 'E_RUN_MEMORY'],
  ['a thread that may open no files', threadFailing('EMFILE'), 'E_RUN_FILES'],
  ['a thread that gets no memory', threadFailing('ENOMEM'), 'E_RUN_MEMORY'],
  ['a buffer without memory', new RangeError('Array buffer allocation failed'), 'E_RUN_MEMORY'],
])('limitReached of %s', (_what, thrown, code) => {
  expect(limitReached(thrown)).toMatchObject({ code, exit: 1, message: expect.stringContaining(thrown.message), cause: thrown });
});
