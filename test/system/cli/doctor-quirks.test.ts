import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Diagnosis } from '../../../src/index.js';
import { generate, type StartOptions } from '../../../src/service/index.js';
import { cli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { rung } from '../../support/rung.js';
import { service } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** How a service behaves, and what doctor has to say of it. */
interface Case {
  readonly quirks: NonNullable<StartOptions['quirks']>;
  readonly block: { readonly first_page: 0 | 1; readonly limit: number };
  /** Part of the message by check; all others are `ok`. */
  readonly notes: Partial<Record<Diagnosis['findings'][number]['check'], string>>;
}

const oneCase: readonly Case[] = [
  {
    quirks: { 'first-page': 0, 'repeat-last': true, cap: 60 },
    block: { first_page: 0, limit: 60 },
    notes: { limit: '60 is the cap', end_of_list: 'the last page is repeated' },
  },
];

const allCases: readonly Case[] = [
  ...oneCase,
  {
    quirks: { cap: 45, 'refuse-over-cap': true, 'repeat-last': true, 'bare-record': true, 'not-found': '404', 'paged-links': true },
    block: { first_page: 1, limit: 45 },
    notes: {
      limit: '45 is the cap: limit=46 is refused with HTTP 400 (an object with the keys error)',
      end_of_list: 'the last page is repeated',
    },
  },
  { quirks: {}, block: { first_page: 1, limit: 500 }, notes: {} },
  { quirks: { 'first-page': 0, 'not-found': 'null' }, block: { first_page: 0, limit: 500 }, notes: {} },
  {
    quirks: { cap: 333, 'refuse-over-cap': true, 'areacode-path': 'singular', 'not-found': 'nothing', 'default-limit': 7 },
    block: { first_page: 1, limit: 333 },
    notes: { limit: '333 is the cap', collections: 'areacodes is at /api/areacode' },
  },
  {
    quirks: { cap: 100, 'first-page': 0, 'unstable-order': 5 },
    block: { first_page: 0, limit: 100 },
    notes: { limit: '100 is the cap: limit=500 returns 100 rows, and more follow', order: 'a different order each time' },
  },
  {
    quirks: { 'first-page': 0, 'refuse-over-cap': true, cap: 9, 'not-found': 'object' },
    block: { first_page: 0, limit: 9 },
    notes: { limit: '9 is the cap: limit=10 is refused' },
  },
  {
    quirks: { cap: 4000, 'unstable-order': 3, 'unknown-fields': 0.2, 'missing-fields': 0.2, 'non-strings': 0.1, 'bare-record': true },
    block: { first_page: 1, limit: 500 },
    notes: { order: 'a different order each time' },
  },
];

test.each(rung(oneCase, allCases))('doctor finds out $quirks, and its block makes a run exact', async ({ quirks, block, notes }) => {
  const source = generate({ leads: 1_207, bridges: 20, seed: 7 });
  const [from, cwd] = [await service(source, { quirks }), await temporaryFolder()];
  const doctor = await cli(['doctor', '--format', 'json', '--rate-limit', '500'], { cwd, env: from.env });
  const diagnosis: Diagnosis = JSON.parse(doctor.stdout);
  const outcomes = Object.fromEntries(diagnosis.findings.map(({ check, outcome, message }) => [check, [outcome, message]]));
  expect(doctor.code).toBe(0);
  for (const { check } of diagnosis.findings) {
    const note = notes[check];
    expect([check, ...(outcomes[check] ?? [])]).toEqual(
      note === undefined ? [check, 'ok', expect.any(String)] : [check, 'note', expect.stringContaining(note)],
    );
  }
  expect(diagnosis.block).toContain(`\n  first_page: ${block.first_page}\n  limit: ${block.limit}\n`);
  expect(diagnosis.requests).toBe(from.probes.length);
  expect(from.requests).toEqual([]);

  const file = `name: pasted\n${diagnosis.block}from: leads\nto:\n  - csv: { path: leads.csv, columns: [lead_id] }\n`;
  await writeFile(join(cwd, 'p.yaml'), file);
  const run = await cli(['run', 'p.yaml', '--set', 'service.end_wait=1ms'], { cwd, env: from.env });
  expect({ code: run.code, stderr: run.stderr }).toMatchObject({ code: 0 });
  const rows = await duckdb(`select lead_id from read_csv('${join(cwd, 'leads.csv')}', all_varchar = true) order by lead_id`);
  const generated = Array.from({ length: source.leads.count }, (_, index): { lead_id: string } => JSON.parse(source.leads.row(index)));
  expect(rows.map((row) => row['lead_id'])).toEqual(generated.map(({ lead_id }) => lead_id).toSorted());
});
