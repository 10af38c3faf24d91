import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from '@jest/globals';
import { cli, type Finished } from '../../support/cli.js';
import { serviceOf } from '../../support/services.js';
import { workplace } from './support.js';

const text = `from: leads
steps:
  - filter: age == '7'
tests:
  - name: one row
    given: { leads: [{ lead_id: '1', age: '7' }] }
    expect: { error: E_GATE_EXPECT }
to:
  - stdout: {}
`;

/** Escape sequences of colours and nothing else. */
// oxlint-disable-next-line no-control-regex
const colour = /\u001b\[\d+m/g;

/** Everything that a command says, with times and counts that differ from run to run left out. */
async function said(parameters: readonly string[], given: { isTTY: boolean; env?: Record<string, string> }): Promise<string> {
  const from = await serviceOf({ leads: [{ lead_id: '1', age: '8' }] });
  const cwd = await workplace(text);
  await writeFile(join(cwd, 'wrong.yaml'), 'name: wrong\nfrom: leeds\nto:\n  - stdout: {}\n');
  const { stdout, stderr }: Finished = await cli(parameters, { cwd, isTTY: given.isTTY, env: { ...from.env, ...given.env } });
  return `${stdout}${stderr}`
    .replaceAll(from.url, 'URL')
    .replaceAll(cwd, '.')
    .replaceAll(/\d+(?:\.\d+)?(?= ?(?:ms|\/s|s\b))/g, 'N');
}

test.each([[['doctor', '--rate-limit', '500']], [['test', 'p.yaml']], [['validate', 'p.yaml', 'wrong.yaml']], [['fetch', 'leeds']]])(
  '%j has colours on a terminal, and is the same without',
  async (parameters) => {
    const coloured = await said(parameters, { isTTY: true });
    expect(coloured).toMatch(colour);
    expect(stripVTControlCharacters(coloured)).toBe(await said(parameters, { isTTY: true, env: { NO_COLOR: '1' } }));
    expect(await said(parameters, { isTTY: false })).not.toContain('\u001b');
  },
);
