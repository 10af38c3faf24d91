import { readdir, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { recoverCommits, removeTemporaries } from '../../../src/store/index.js';
import { temporaryName } from '../../../src/store/files.js';
import { openSpool } from '../../../src/source/spool/spool.js';
import { cli } from '../../support/cli.js';
import { pipelineText, service } from '../../support/services.js';
import { sourceOf } from '../../support/spool.js';
import { filesBelow, folderWith, temporaryFolder } from '../../support/temporary.js';

/** A temporary file of this age. */
async function leftBehind(path: string, ageMs = 3_700_000): Promise<string> {
  const left = temporaryName(path);
  await writeFile(left, '{"version"');
  const then = new Date(Date.now() - ageMs);
  await utimes(left, then, then);
  return left;
}

test('removeTemporaries removes what is an hour old, and nothing else', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'a.json');
  await leftBehind(path);
  const stay = [await leftBehind(path, 3_500_000), await leftBehind(join(folder, 'b.json')), path, `${path}.tmp`];
  for (const file of stay.slice(2)) await writeFile(file, '');
  await removeTemporaries(folder, (name) => name === 'a.json');
  expect((await readdir(folder)).sort()).toEqual(stay.map((file) => basename(file)).sort());
});

test('the temporary file of a logged commit is tidied by a later run', async () => {
  const folder = await temporaryFolder();
  await leftBehind(join(folder, 'run-1.commit.json'));
  expect(await recoverCommits(folder, { runId: 'run-2' })).toEqual([]);
  expect(await readdir(folder)).toEqual([]);
});

test('so are those of a spool', async () => {
  const folder = join(await temporaryFolder(), 'spool');
  const options = { folder, source: sourceOf(), runId: 'run-1', maxAgeMs: 1_000 };
  const spool = await openSpool(options);
  await leftBehind(join(folder, 'account.key'));
  await leftBehind(join(spool.folder, 'started.json'));
  await spool.write(1, Buffer.from('[]'));
  await spool.close();
  const again = await openSpool(options);
  expect((await filesBelow(folder)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  await again.remove();
});

test.each([
  ['a report', '--report', 'r.json'],
  ['metrics', '--metrics', 'm.prom'],
])('what a killed run left of writing %s is tidied by a later one, and nothing that only looks alike', async (_what, option, file) => {
  const [from, cwd] = [await service(), await folderWith({ 'p.yaml': pipelineText('from: users\nto:\n  - csv: { path: u.csv }') })];
  const path = join(cwd, file);
  await leftBehind(path);
  const stay = [await leftBehind(join(cwd, `other-${file}`)), `${path}.tmp`, `${path}.backup.tmp`, `${path}.1.tmp`];
  const old = new Date(Date.now() - 100 * 3_600_000);
  for (const name of stay.slice(1)) {
    await writeFile(name, 'x');
    await utimes(name, old, old);
  }
  expect(await cli(['run', 'p.yaml', option, file], { cwd, env: from.env })).toMatchObject({ code: 0 });
  const left = (await readdir(cwd)).filter((name) => name.endsWith('.tmp'));
  expect(left.sort()).toEqual(stay.map((name) => basename(name)).sort());
});
