import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { GateError } from '../../../src/core/errors.js';
import { service, serviceOf } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';
import { leads, runIn } from '../../support/pipelines.js';

const body = 'from: leads\nto:\n  - csv: { path: out/l.csv }\n  - ndjson: { path: out/l.ndjson }\nexpect: { min_rows: 5 }';

describe('outputs that a gate refuses', () => {
  test('are kept aside when asked, and the failure says where', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(3) }), await temporaryFolder()];
    const warned: string[] = [];
    const options = {
      keepFailed: true,
      watch: { warning: ({ code, message }: { code: string; message: string }) => void warned.push(`${code} ${message}`) },
    };
    const failure: unknown = await runIn(from, body, folder, options).catch((error: unknown) => error);
    if (!(failure instanceof GateError)) throw failure;
    expect(failure).toMatchObject({ code: 'E_GATE_EXPECT', message: expect.stringContaining('expect.min_rows') });
    expect(failure.kept).toHaveLength(2);
    expect((await readFile(failure.kept[0] ?? '', 'utf8')).trim().split('\n')).toHaveLength(4);
    expect(warned.at(-1)).toBe(`W_RUN_KEPT test: not published, but kept for inspection: ${failure.kept.join(', ')}`);
    expect(await visible(join(folder, 'out'))).toEqual(failure.kept.map((path) => path.slice(join(folder, 'out').length + 1)).sort());
  });

  test('are removed otherwise', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(3) }), await temporaryFolder()];
    await expect(runIn(from, body, folder)).rejects.toMatchObject({ code: 'E_GATE_EXPECT', kept: [] });
    expect(await visible(folder)).toEqual([]);
  });

  test('do not stay when something else than a gate fails', async () => {
    const [from, folder] = [await service(undefined, { faults: ['404@page=3'] }), await temporaryFolder()];
    await expect(runIn(from, body, folder, { keepFailed: true })).rejects.toMatchObject({ code: 'E_SOURCE_ORDER' });
    expect(await visible(folder)).toEqual([]);
  });

  test('are not there when a gate refuses before the end', async () => {
    const [from, folder] = [await service(undefined, { quirks: { cap: 30 } }), await temporaryFolder()];
    const strict = body.replace('from:', 'consistency: off\nfrom:');
    const failing = runIn(from, `  strict: true\n${strict}`, folder, { keepFailed: true });
    await expect(failing).rejects.toMatchObject({ code: 'E_GATE_STRICT', kept: [] });
    expect(await visible(folder)).toEqual([]);
  });
});
