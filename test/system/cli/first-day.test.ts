import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { version } from '../../../src/core/index.js';
import { generate } from '../../../src/service/index.js';
import { cli } from '../../support/cli.js';
import { service, testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** What a new operator types on the first day, by the name of the file that holds what is answered. */
const day: readonly (readonly [name: string, words: readonly string[]])[] = [
  ['1-init', ['init', 'night', '--from', 'leads', '--to', 'csv']],
  ['2-validate', ['validate', 'night.yaml', '--env', '.env', '--env-check']],
  ['3-doctor', ['doctor', 'night.yaml', '--env', '.env']],
  ['4-explain', ['explain', 'night.yaml', '--env', '.env']],
  ['5-preview', ['preview', 'night.yaml', '-n', '2', '--columns', 'lead_id,email,lead_status,bridge_title', '--env', '.env']],
  ['6-run', ['run', 'night.yaml', '--env', '.env']],
  ['7-explain-row', ['explain-row', 'night.yaml', '4000004', '--env', '.env']],
];

/** What the operator adds to the file. */
const joined = '  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title, niche] }\n';

/** Where what is expected stands. `UPDATE_GOLDEN=1 npm run jest -- first-day` writes it anew, to be read before it is committed. */
const golden = fileURLToPath(new URL('../../golden/first-day', import.meta.url));

/** Without what is another thing each time: places, times, rates, sizes, ids. */
function normalised(text: string, known: Readonly<Record<string, string>>): string {
  const named = Object.entries(known).reduce((all, [what, word]) => all.replaceAll(what, word), text);
  return named
    .replaceAll(/\d{8}T\d{9}Z-[0-9a-f]{8}/g, 'RUN')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g, 'TIME')
    .replaceAll(/\b[\d.,]+ (?:ms|s)\b|\b\d+:\d\d\b(?= \|)/g, 'DURATION')
    .replaceAll(/\b[\d.,]+(?= rows\/s|\/s[;,\s])/g, 'RATE');
}

test('the first day of an operator: init, validate, doctor, explain, preview, run', async () => {
  const [from, cwd] = [await service(generate({ leads: 1_200, seed: 7 })), await temporaryFolder()];
  const known = { [cwd]: 'FOLDER', [process.cwd()]: 'PACKAGE', [from.url]: 'SERVICE', [version]: 'VERSION' };
  const told: Record<string, string> = {};
  for (const [name, words] of day) {
    const { code, stdout, stderr } = await cli(words, { cwd });
    told[name] = `$ leadstream ${words.join(' ')}\n${stdout}${stderr === '' ? '' : `--- stderr\n${stderr}`}--- exit ${code}\n`;
    if (name === '1-init') {
      const text = await readFile(join(cwd, 'night.yaml'), 'utf8');
      told['1-init-file'] = text;
      await writeFile(join(cwd, 'night.yaml'), text.replace('\nto:\n', `\n${joined}to:\n`));
      await writeFile(join(cwd, '.env'), `LEADSTREAM_BASE_URL=${from.url}\nLEADSTREAM_REST_API_KEY=${testKey}\n`);
    }
  }
  const all = Object.fromEntries(Object.entries(told).map(([name, text]) => [`${name}.txt`, normalised(text, known)]));
  if (process.env['UPDATE_GOLDEN']) for (const [name, text] of Object.entries(all)) await writeFile(join(golden, name), text);
  for (const [name, text] of Object.entries(all)) expect([name, text]).toEqual([name, await readFile(join(golden, name), 'utf8')]);
  expect((await readdir(golden)).toSorted()).toEqual(Object.keys(all).toSorted());
});
