import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { csvSink } from '../../../src/sinks/csv.js';
import { csv, type SinkWriter } from '../../../src/sinks/index.js';
import { ndjsonSink } from '../../../src/sinks/ndjson.js';
import { parquetSink } from '../../../src/sinks/parquet.js';
import { checkStore, isOccupied, lockOutputs, sha256Text, Stores, type StoreSettings, writeOnce } from '../../../src/store/index.js';
import { S3Objects } from '../../../src/store/s3.js';
import { startCli } from '../../support/cli.js';
import { cutRuns, placed } from '../../support/cut-runs.js';
import { cuttingProxy } from '../../support/cutting-proxy.js';
import { lead, leads, runIn, serviceOf, workplace } from '../../support/services.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { bucket } from '../../support/seaweedfs.js';
import { column, elsewhere, writeAll } from '../../support/sinks.js';
import { filesBelow, temporaryFolder, visible } from '../../support/temporary.js';

const to = (path: string) => `from: leads\nsteps:\n  - select: [lead_id]\nto:\n  - csv: { path: '${path}' }`;

inSeaweedFS('text files on a store', (server) => {
  test('are published by the command, with their rejects and the report, and replaced by the next run', async () => {
    const { root, at, read, names } = placed();
    const rows = [lead(1), lead(2), lead(3, { age: 'old' })];
    const from = await serviceOf({ leads: rows });
    const cwd = await workplace(
      [
        'store: { endpoint: "${STORE}", region: us-east-1 }',
        'rejects: { max: 50% }',
        'from: leads',
        'steps: [{ select: [lead_id, age] }, { cast: { types: { age: integer } } }]',
        'to:',
        `  - csv: { path: '${root}/leads.csv' }`,
        `  - ndjson: { path: '${root}/{{ pipeline }}/leads.ndjson' }`,
        '  - csv: { path: here.csv }',
      ].join('\n'),
    );
    const { AWS_ENDPOINT_URL_S3: STORE = '', ...keys } = server().env;
    const env = { ...from.env, STORE };
    const file = Object.entries(keys).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(cwd, 's3.env'), file.join(''), { mode: 0o600 });
    for (const _ of ['the first run', 'the next one']) {
      const { code, stderr } = await startCli(['run', 'p.yaml', '--report', at('report.json'), '--env', 's3.env'], { cwd, env }).finished;
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('warn')]);
      expect(await names()).toEqual(['leads.csv', 'leads.csv.rejects.ndjson', 'report.json', 'test/leads.ndjson']);
      expect(await read('leads.csv')).toBe(await readFile(join(cwd, 'here.csv'), 'utf8'));
      expect((await read('test/leads.ndjson'))?.split('\n')).toHaveLength(3);
      expect(JSON.parse((await read('leads.csv.rejects.ndjson')) ?? '')).toMatchObject({ key: { lead_id: '3' } });
      expect(JSON.parse((await read('report.json')) ?? '')).toMatchObject({ status: 'published', read: 3 });
    }
    expect(await visible(cwd)).toEqual(['here.csv', 'p.yaml', 's3.env']);
    expect(await filesBelow(join(cwd, '.leadstream', 'scratch'))).toEqual([]);
    const { stdout } = await startCli(['explain', 'p.yaml'], { cwd, env }).finished;
    const alone = ['leads.csv.rejects.ndjson', 'leads.csv', 'test/leads.ndjson'].map(at).join(', then ');
    expect(stdout).toContain(`each by itself: ${alone}; then together: ${join(cwd, 'here.csv')}`);
  });

  test('keep their rejects when a run fails, and nothing else', async () => {
    const { at, names } = placed();
    const body = `rejects: { max: 0 }\nfrom: leads\nsteps: [{ cast: { types: { age: integer } } }]\nto:\n  - csv: { path: '${at('x.csv')}' }`;
    const from = await serviceOf({ leads: [lead(1, { age: 'old' })] });
    await expect(runIn(from, body, await temporaryFolder())).rejects.toMatchObject({ code: 'E_GATE_REJECTS' });
    expect(await names()).toEqual(['x.csv.rejects.ndjson']);
  });

  test('are all published by the run after one that was killed between them, which reads no page again', async () => {
    const { root, read } = placed();
    const from = await serviceOf({ leads: leads(3) });
    const cwd = await workplace(`store: { endpoint: "\${STORE}" }\n${to(`${root}/x.csv`)}\n  - csv: { path: here.csv }`);
    let isUploaded = false;
    const proxy = await cuttingProxy(server().endpoint, (request) => {
      if (isUploaded) killed.process.kill('SIGKILL');
      isUploaded ||= request.startsWith('PUT') && request.endsWith('/x.csv');
      return isUploaded ? 'applied' : 'answered';
    });
    const env = { ...from.env, ...server().env };
    const killed = startCli(['run', 'p.yaml'], { cwd, env: { ...env, STORE: proxy.url } });
    expect(await killed.finished).toMatchObject({ code: null });
    expect([await read('x.csv'), await visible(cwd)]).toEqual([expect.stringContaining('"2"'), expect.not.arrayContaining(['here.csv'])]);
    expect(await startCli(['run', 'p.yaml'], { cwd, env: { ...env, STORE: server().endpoint } }).finished).toMatchObject({ code: 0 });
    expect(await read('x.csv')).toBe(await readFile(join(cwd, 'here.csv'), 'utf8'));
    expect(from.requests.filter((request) => request.startsWith('leads?page=1&'))).toHaveLength(1);
    expect(await visible(cwd)).toEqual(['here.csv', 'p.yaml']);
    expect(await filesBelow(join(cwd, '.leadstream', 'scratch'))).toEqual([]);
  });

  test('that were published before another one failed are named', async () => {
    const { at, store } = placed();
    const proxy = await cuttingProxy(server().endpoint, (request) => {
      if (request.startsWith('PUT') && request.endsWith('/a.csv')) void store.put('b.csv', 'of another');
      return 'answered';
    });
    const body = `store: { endpoint: '${proxy.url}' }\n${to(at('a.csv'))}\n  - csv: { path: '${at('b.csv')}' }`;
    await expect(runIn(await serviceOf({ leads: leads(1) }), body, await temporaryFolder())).rejects.toMatchObject({
      code: 'E_RUN_LOCKED',
      message: expect.stringContaining('to[0] csv had already published, and will receive all rows again'),
    });
  });

  test('are checked before the service is asked, and no key is shown', async () => {
    const from = await serviceOf({ leads: leads(1) });
    for (const [path, env, message] of [
      [`s3://${bucket}-missing/x.csv`, {}, 'NoSuchBucket'],
      [`s3://${bucket}/x.csv`, { AWS_SECRET_ACCESS_KEY: 'wrong-but-secret' }, 'SignatureDoesNotMatch'],
      [`s3://${bucket}/x.csv`, server().readerEnv, 'AccessDenied'],
    ] as const) {
      const cwd = await workplace(to(path));
      const { code, stderr } = await startCli(['run', 'p.yaml'], { cwd, env: { ...from.env, ...server().env, ...env } }).finished;
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
      expect(stderr).toContain('E_SINK_PATH');
      expect(stderr).not.toMatch(/writer-secret|wrong-but-secret|reader-secret/);
    }
    expect([from.requests, from.probes]).toEqual([[], []]);
  });

  test('are not replaced when another writer was faster', async () => {
    const { at, store, read } = placed();
    for (const first of [undefined, 'old']) {
      const name = `${first}.csv`;
      if (first !== undefined) await store.put(name, first);
      const writer = await csv({ path: at(name) }, { stores: new Stores() });
      await writer.begin([column('uid')]);
      await store.put(name, 'of another');
      const prepared = await writer.prepare();
      await expect(prepared.commit?.(false)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
      await writer.abort();
      expect(await read(name)).toBe('of another');
    }
    expect(await isOccupied(at('old.csv'), new Stores())).toBe(true);
    expect(await isOccupied(at('none.csv'), new Stores())).toBe(false);
  });

  test('are whole, old or new, whether their upload is cut before or after the store carried it out, or arrives late', async () => {
    await cutRuns(server(), (request) => request.startsWith('PUT') && !/lock|probe/.test(request));
  });
});

inSeaweedFS('a store that gives no ETag', (server) => {
  describe.each(['GET', 'HEAD', 'PUT', 'POST', 'GET HEAD PUT POST'])('in answers to %s', (methods) => {
    const untagged = async () =>
      (await cuttingProxy(server().endpoint, (request) => (methods.includes(request.split(' ', 1).join()) ? 'untagged' : 'answered'))).url;

    test.each([
      ['x.csv', csvSink, 'x.csv'],
      ['x.ndjson', ndjsonSink, 'x.ndjson'],
      ['x', parquetSink, 'x/_latest.json'],
    ] as const)('never has a concurrent %s overwritten', async (path, sink, decisive) => {
      const { at, read, store } = placed();
      // Without the lock, which only saves work.
      const opened = (settings: StoreSettings) => elsewhere<unknown>(sink, { path: at(path) })({ stores: new Stores(settings) });
      const write = (writer: Promise<SinkWriter>) => writeAll(writer, [column('uid')], [{ uid: randomUUID() }]);
      await write(opened({}));
      const base = (await read(decisive)) ?? '';
      const other = path === 'x' ? base.replace(/"nonce":\s*"[^"]+"/, '"nonce":"of another"') : 'of another';
      let expected = base;
      const raced = async (writer: Promise<SinkWriter>) => {
        await writer;
        await store.put(decisive, (expected = other));
        return writer;
      };
      const endpoint = await untagged();
      const failure: unknown = await write(raced(opened({ endpoint }))).catch((thrown: unknown) => thrown);
      expect(failure).toMatchObject({ code: expect.stringMatching(/^E_RUN_LOCKED$|^E_SINK_PATH$/) });
      expect(await read(decisive)).toBe(expected);
      await write(opened({ endpoint, single_writer: true }));
      expect(await read(decisive)).not.toBe(expected);
    });

    test('is refused where a write needs one, and takes large uploads', async () => {
      const { root, store } = placed();
      const old = await store.create('x', 'old');
      const odd = new S3Objects(root, { endpoint: await untagged() }, 5 << 20);
      const refused = { code: 'E_SINK_PATH', message: expect.stringMatching(/no ETag.*single_writer: true/) };
      for (const [method, version] of [
        ['GET', (await odd.read('x'))?.version],
        ['HEAD', (await odd.find('x'))?.version],
        ['PUT', await writeOnce(odd, 'y', 'old')],
      ] as const) {
        if (methods.includes(method)) await expect(writeOnce(odd, 'x', 'new', version)).rejects.toMatchObject(refused);
      }
      expect((await store.read('x'))?.version).toBe(old);
      if (methods.includes('GET')) {
        await checkStore(store);
        await expect(checkStore(odd)).rejects.toMatchObject(refused);
        await checkStore(odd, { single_writer: true });
      }
      const file = { path: join(await temporaryFolder(), 'large'), bytes: 6 << 20, sha256: sha256Text(Buffer.alloc(6 << 20)) };
      await writeFile(file.path, Buffer.alloc(6 << 20));
      // The parts of an upload need ETags, too.
      if (methods.includes('PUT')) await expect(odd.upload('large', file)).rejects.toMatchObject({ code: 'E_SINK_WRITE' });
      else await odd.upload('large', file);
      expect((await store.find('large'))?.sha256).toBe(methods.includes('PUT') ? undefined : file.sha256);
    });
  });
});

inSeaweedFS('the lock of an output on a store', (server) => {
  const options = () => ({ runId: 'run-1', stores: new Stores() });
  const held = (owner: object | null, at: Date) => JSON.stringify({ owner, at: at.toISOString(), nonce: randomUUID() });
  const stranger = { id: 'abcdef0123456789', run: 'run-0', host: 'elsewhere', space: '', pid: 1, started: null, since: 'then' };
  const hourAgo = () => new Date(Date.now() - 3_600_000);

  test('is held by one run, and free again when that has released it', async () => {
    const { at } = placed();
    const path = at('x.csv');
    const lock = await lockOutputs([path], options());
    await lock.check();
    await expect(lockOutputs([path], options())).rejects.toMatchObject({ code: 'E_RUN_LOCKED', message: expect.stringContaining('run-1') });
    await lock.release();
    await lock.release();
    await (await lockOutputs([path], options())).release();
    const both = await Promise.allSettled([lockOutputs([path], options()), lockOutputs([path], options())]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('is taken from a dead process of this machine at once', async () => {
    const { at, store, read } = placed();
    const lock = await lockOutputs([at('x')], options());
    const mine = JSON.parse((await read('.x.lock')) ?? '') as { owner: object };
    await lock.release();
    await store.put('.x.lock', held({ ...mine.owner, pid: 2 ** 22 + 1 }, new Date()));
    const taken = await lockOutputs([at('x')], options());
    await taken.check();
    await store.put('.x.lock', held({ ...mine.owner, id: stranger.id, host: `not-${hostname()}` }, new Date()));
    await expect(taken.check()).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    await taken.release();
    expect(await read('.x.lock')).toContain(stranger.id);
  });

  test('of another machine is taken when it stands still by the clock of this one', async () => {
    const { at, store } = placed();
    await store.put('.x.lock', held(stranger, new Date()));
    await expect(lockOutputs([at('x')], options())).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });

    let beat = store.put('.x.lock', held(stranger, hourAgo()));
    await beat;
    const beating = setInterval(() => void (beat = store.put('.x.lock', held(stranger, hourAgo()))), 100);
    await expect(lockOutputs([at('x')], { ...options(), quietMs: 2_000 })).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });

    // Where nothing else tells that it beats.
    const { url: endpoint } = await cuttingProxy(server().endpoint, () => 'untagged');
    const untagged = lockOutputs([at('x')], { ...options(), quietMs: 1_000, stores: new Stores({ endpoint, single_writer: true }) });
    await expect(untagged).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    clearInterval(beating);
    await beat;

    const stopping = new AbortController();
    const waiting = lockOutputs([at('x')], { ...options(), stores: new Stores({}, stopping.signal) });
    setTimeout(() => stopping.abort(), 100);
    await expect(waiting).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });

    const taken = await lockOutputs([at('x')], { ...options(), quietMs: 400, heartbeatMs: 50 });
    const first = await store.read('.x.lock');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await store.read('.x.lock'))?.version).not.toBe(first?.version);
    await taken.check();
    await taken.release();
  });

  test('is not taken where another program has an object of that name', async () => {
    const { at, store } = placed();
    await store.put('.x.lock', 'not ours');
    await expect(lockOutputs([at('x')], options())).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
  });
});
