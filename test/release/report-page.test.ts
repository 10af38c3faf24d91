import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { chromium } from 'playwright-core';
import { generate } from '../../src/service/index.js';
import { cli } from '../support/cli.js';
import { pipelineText, service } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

/** A Chromium installed on the system. */
const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));

const body = `from: leads
steps:
  - dedupe: {}
  - filter: lead_status != 'rejected'
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title], type: inner }
to:
  - csv: { path: out/leads.csv }
  - parquet: { path: out/leads }
expect: { min_rows: 50000, not_null: [lead_id] }`;

/** The page of a run with retries that a gate refuses, in the given look. */
async function looked(page: string, scheme: 'light' | 'dark', width: number) {
  const browser = await chromium.launch({ ...(chromiumPath !== undefined && { executablePath: chromiumPath }), args: ['--no-sandbox'] });
  try {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 844 } });
    const tab = await context.newPage();
    const said: string[] = [];
    tab.on('console', (message) => said.push(message.text()));
    tab.on('pageerror', (error) => said.push(String(error)));
    tab.on('request', (request) => request.url().startsWith('file:') || request.url().startsWith('data:') || said.push(request.url()));
    await tab.goto(pathToFileURL(page).href);
    const size = '[document.documentElement.scrollWidth, document.documentElement.clientWidth]';
    const [whole = 0, room = 0] = await tab.evaluate<number[]>(size);
    const back = await tab.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const pictures = await tab.locator('.flow rect:visible, .progress:visible').count();
    const refused = await tab.locator('tr.refused').allInnerTexts();
    return { said, fits: whole <= room, back, pictures, refused };
  } finally {
    await browser.close();
  }
}

if (chromiumPath === undefined) process.stderr.write('SKIPPED: no Chromium is installed, so nobody looks at the page of a report\n');
const browserTest = chromiumPath === undefined ? test.skip : test;

browserTest(
  'the page of a report is readable in light and dark, wide and narrow, asks for nothing and has nothing to complain',
  async () => {
    const faults = ['503@collection=leads,page=2,times=1', '429@collection=bridges,page=1,times=1'];
    const [from, cwd] = [await service(generate({ leads: 5_000, bridges: 20, seed: 7 }), { faults }), await temporaryFolder()];
    await writeFile(join(cwd, 'p.yaml'), pipelineText(body));
    const set = ['--set', 'service.retry.base=1ms'];
    expect((await cli(['run', 'p.yaml', '--report', 'r.html', ...set], { cwd, env: from.env })).code).toBe(65);
    const page = join(cwd, 'r.html');
    expect((await stat(page)).size).toBeLessThan(100_000);
    expect(await readFile(page, 'utf8')).not.toMatch(/<script|https?:\/\/(?!127\.0\.0\.1|www\.w3\.org|example|www\.example)/);
    const backs = { light: 'rgb(255, 255, 255)', dark: 'rgb(20, 24, 28)' };
    for (const scheme of ['light', 'dark'] as const)
      for (const width of [1_000, 390]) {
        expect({ scheme, width, ...(await looked(page, scheme, width)) }).toEqual({
          scheme,
          width,
          said: [],
          fits: true,
          back: backs[scheme],
          pictures: 4,
          refused: [expect.stringContaining('expect.min_rows')],
        });
      }
  },
);
