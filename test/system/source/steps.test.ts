import { existsSync } from 'node:fs';
import { join as pathOf } from 'node:path';
import { jest } from '@jest/globals';
import { lastValueFrom, of } from 'rxjs';
import { cast, connect, csv, filter, fromPages, join, watch, writeTo } from '../../../src/leadstream.js';
import type { ConnectOptions, Lead, RowStream, Warning } from '../../../src/leadstream.js';
import { generate } from '../../../src/service/index.js';
import { standalone } from '../../../src/testing.js';
import { service, testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

async function open(options: Partial<ConnectOptions> = {}) {
  const from = await service(generate({ leads: 250, bridges: 20, links: 20, seed: 7 }));
  return connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, limit: 100, endWaitMs: 1, ...options });
}

async function collected<T>(stream: RowStream<T>): Promise<readonly T[]> {
  const rows: T[] = [];
  for await (const row of stream) rows.push(row);
  return rows;
}

/** The warnings of the process while something runs. */
async function warnedDuring(work: () => Promise<unknown>): Promise<readonly unknown[]> {
  const emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  await work();
  const warnings = emitted.mock.calls.map(([message]) => message);
  emitted.mockRestore();
  return warnings;
}

const unmatched = { on: { lead_id: 'id' }, as: 'bridge', select: ['title'] } as const;
const noMatch = 'join: none of 250 rows found a match in the other side; minMatch refuses that';

describe('what steps did with the rows of a read', () => {
  test('stands on the stream, for each read anew, and of writeTo in what was written', async () => {
    await using from = await open();
    const chain = from.leads.pipe(
      filter((lead) => lead.lead_status === 'sold'),
      join(from.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }),
    );
    expect(chain.steps).toBeUndefined();
    const sold = await collected(chain);
    const matched = sold.filter(({ bridge_title }) => bridge_title !== null).length;
    expect(matched).toBeGreaterThan(0);
    const counted = [
      { at: 'filter', tally: { filtered: 250 - sold.length } },
      { at: 'join', tally: { matched, missed: sold.length - matched } },
    ];
    expect(chain.steps).toMatchObject(counted);
    // At the same time, and from the same steps.
    await Promise.all([collected(chain), collected(chain)]);
    expect(chain.steps).toMatchObject(counted);
    const { steps } = await writeTo(chain, csv({ path: pathOf(await temporaryFolder(), 'sold.csv') }));
    expect(steps).toMatchObject(counted);
  });

  test('stands in the context of a step that was given one, and nowhere else', async () => {
    await using from = await open();
    const context = standalone('mine');
    const chain = from.leads.pipe(
      cast({ email: 'integer' }, { onError: 'null' }, context),
      filter(() => false),
    );
    await collected(chain);
    expect(context.tally.nulled).toBeGreaterThan(0);
    expect(chain.steps?.map(({ at }) => at)).toEqual(['filter']);
  });
});

describe('a join in which no row has a match', () => {
  test('is a warning to those who watch the connection, once for each read', async () => {
    const warnings: Warning[] = [];
    const watcher = { warning: ({ code, message }: Warning) => void warnings.push({ code, message }) };
    await using from = await open({ watch: watcher });
    const chain = from.leads.pipe(join(from.bridges, unmatched));
    expect(await warnedDuring(() => collected(chain))).toEqual([]);
    expect(warnings).toEqual([{ code: 'W_STEP_NO_MATCH', message: noMatch }]);
    expect(chain.steps).toMatchObject([{ at: 'join', tally: { matched: 0, missed: 250 } }]);
    await writeTo(chain, csv({ path: pathOf(await temporaryFolder(), 'leads.csv') }));
    expect(warnings).toHaveLength(2);
  });

  test('is a warning to whoever watches what is written, also of the other side, and once on the channels', async () => {
    const [onChannels, onConnection, onWriting]: [string[], string[], string[]] = [[], [], []];
    const into = (heard: string[]) => ({ warning: ({ message }: Warning) => void heard.push(message) });
    await using from = await open();
    await using watched = await open({ watch: into(onConnection) });
    const end = watch(into(onChannels));
    const write = async (stream: RowStream<Lead>) =>
      writeTo(stream, csv({ path: pathOf(await temporaryFolder(), 'leads.csv') }), { watch: into(onWriting) });
    const process = await warnedDuring(async () => {
      await write(from.leads.pipe(join(from.bridges, unmatched)));
      await write(watched.leads.pipe(join(watched.bridges, unmatched)));
      const bridges = from.bridges.pipe(join(from.links, { on: { title: 'id' }, as: 'link', select: ['name'] }));
      await write(from.leads.pipe(join(bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] })));
    });
    end();
    const messages = [noMatch, noMatch, 'join: none of 20 rows found a match in the other side; minMatch refuses that'];
    expect([onChannels, onConnection, onWriting, process]).toEqual([messages, [noMatch], messages, []]);
  });

  test('is a warning of the process where nobody watches', async () => {
    await using from = await open();
    expect(await warnedDuring(() => collected(from.leads.pipe(join(from.bridges, unmatched))))).toEqual([noMatch]);
    const page = { number: 1, rows: [{ id: '1' }], lease: { release: () => {} } };
    const none = fromPages(of(page)).pipe(
      join(fromPages(of({ ...page, rows: [{ id: '2', v: 'x' }] })), { on: { id: 'id' }, as: 'b', select: ['v'] }),
    );
    expect(await warnedDuring(() => collected(none))).toEqual([expect.stringContaining('none of 1 row found a match')]);
  });

  test('is none where some rows have one, and where there is no row', async () => {
    await using from = await open();
    const right = { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] } as const;
    expect(await warnedDuring(() => collected(from.leads.pipe(join(from.bridges, right))))).toEqual([]);
    const no = from.leads.pipe(
      filter(() => false),
      join(from.bridges, unmatched),
    );
    expect(await warnedDuring(() => collected(no))).toEqual([]);
  });
});

describe('minMatch', () => {
  const refusal = { code: 'E_GATE_MATCH', message: 'join: 0.00% of 250 rows matched, expected at least 0.5%' };

  test('ends a stream behind its last row when fewer rows have a match', async () => {
    await using from = await open();
    const chain = from.leads.pipe(join(from.bridges, { ...unmatched, minMatch: '0.5%' }));
    let rows = 0;
    const loop = async () => {
      for await (const _ of chain) rows += 1;
    };
    await expect(loop()).rejects.toMatchObject(refusal);
    expect(rows).toBe(250);
    await expect(lastValueFrom(from.leads.pages$.pipe(join(from.bridges, { ...unmatched, minMatch: '0.5%' })))).rejects.toMatchObject(
      refusal,
    );
  });

  test('publishes nothing by writeTo', async () => {
    await using from = await open();
    const path = pathOf(await temporaryFolder(), 'leads.csv');
    const chain = from.leads.pipe(join(from.bridges, { ...unmatched, minMatch: '0.5%' }));
    await expect(writeTo(chain, csv({ path }))).rejects.toMatchObject(refusal);
    expect(existsSync(path)).toBe(false);
  });

  test('lets pass what has enough, and judges each read by its own rows', async () => {
    await using from = await open();
    const step = join(from.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'], minMatch: '50%' });
    expect(await collected(from.leads.pipe(step))).toHaveLength(250);
    const none = from.leads.pipe(
      filter(() => false),
      step,
    );
    expect(await warnedDuring(() => collected(none))).toEqual([]);
  });
});

test('the signal of a timeout is told from one of somebody', async () => {
  const from = await service(generate({ leads: 250, seed: 7 }), { faults: ['hang@collection=leads'] });
  await using connection = connect({ baseUrl: from.url, auth: { rest_api_key: testKey } });
  const reading = collected(connection.leads.with({ signal: AbortSignal.timeout(20) }));
  await expect(reading).rejects.toMatchObject({ code: 'E_RUN_ABORTED', cause: { name: 'TimeoutError' } });
});
