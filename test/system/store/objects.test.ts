import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { createHash, randomUUID } from 'node:crypto';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DiskObjects } from '../../../src/store/disk-objects.js';
import { checkStore, writeOnce, type FinishedFile, type ObjectStore } from '../../../src/store/index.js';
import { S3Objects } from '../../../src/store/s3.js';
import { bucket, seaweedfs, seaweedfsMissing } from '../../support/seaweedfs.js';
import { answer, endless, type Handler, inTurn, withServer } from '../../support/odd-server.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

async function finished(content: string | Buffer): Promise<FinishedFile> {
  const path = join(await temporaryFolder(), 'finished');
  await writeFile(path, content);
  return { path, bytes: Buffer.byteLength(content), sha256: createHash('sha256').update(content).digest('hex') };
}

async function keysOf(store: ObjectStore, prefix = ''): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

async function textOf(store: ObjectStore, key: string): Promise<string | undefined> {
  return (await store.read(key))?.bytes.toString();
}

/** Another store to test, which the environment leads to: see `test/stores`. */
const other = process.env['TEST_STORE'];

async function inBucket(partBytes?: number): Promise<ObjectStore> {
  if (other === undefined) Object.assign(process.env, (await seaweedfs()).env);
  return new S3Objects(`s3://${bucket}/${randomUUID()}`, {}, partBytes);
}

const places: readonly (readonly [string, (partBytes?: number) => Promise<ObjectStore>])[] = [
  ['a folder', async () => new DiskObjects(join(await temporaryFolder(), 'place'))],
  ...(seaweedfsMissing === undefined || other !== undefined ? ([[`a bucket of ${other ?? 'SeaweedFS'}`, inBucket]] as const) : []),
];

if (seaweedfsMissing !== undefined) test.skip(`objects in a bucket: ${seaweedfsMissing}`, () => {});

/** Lets each test of a suite change variables of the SDK. */
function keepEnvironment(): void {
  let before: NodeJS.ProcessEnv = {};
  beforeEach(() => {
    before = { ...process.env };
  });
  afterEach(() => {
    forgetVariables();
    Object.assign(process.env, before);
  });
}

function forgetVariables(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
}

describe.each(places)('objects in %s', (_, placed) => {
  keepEnvironment();

  test('are created once', async () => {
    const store = await placed();
    expect(await store.read('a/b.json')).toBe(undefined);
    const version = await store.create('a/b.json', 'one');
    expect(await store.read('a/b.json')).toEqual({ bytes: Buffer.from('one'), version });
    await expect(store.create('a/b.json', 'two')).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    expect(await textOf(store, 'a/b.json')).toBe('one');
    expect(await keysOf(store)).toEqual(['a/b.json']);
  });

  test('are replaced only in the version that is known', async () => {
    const store = await placed();
    const first = await store.create('p', 'one');
    const second = await store.replace('p', 'two', first);
    await expect(store.replace('p', 'three', first)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    await expect(store.replace('missing', 'three', first)).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    expect(await store.read('p')).toEqual({ bytes: Buffer.from('two'), version: second });
    expect(await store.read('missing')).toBe(undefined);
  });

  test('have one winner of 16 that create, and of 8 that replace', async () => {
    const store = await placed();
    for (let round = 0; round < 1; round += 1) {
      const key = `race/${round}`;
      const created = await Promise.all(Array.from({ length: 16 }, (_, index) => writeOnce(store, key, `${index}`)));
      expect(created.filter((version) => version !== undefined)).toHaveLength(1);
      expect(await textOf(store, key)).toBe(String(created.findIndex((version) => version !== undefined)));
      const { version = '' } = (await store.read(key)) ?? {};
      const replaced = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => store.replace(key, `new ${index}`, version)));
      const winners = replaced.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
      expect(winners).toHaveLength(1);
      expect(await textOf(store, key)).toBe(`new ${winners[0]}`);
    }
  });

  test('are uploaded from a file and downloaded to one', async () => {
    const store = await placed(5 << 20);
    for (const [key, content] of [
      ['empty', ''],
      ['small', 'é'],
      ['large', Buffer.alloc(11 << 20, 'abcdefg')],
    ] as const) {
      const file = await finished(content);
      await store.upload(key, file);
      await store.upload(key, file);
      expect(await store.find(key)).toMatchObject({ bytes: file.bytes, sha256: file.sha256 });
      const copy = join(await temporaryFolder(), 'copy');
      await store.download(key, copy);
      expect((await readFile(copy)).equals(Buffer.from(content))).toBe(true);
      await expect(store.upload(key, await finished('other'))).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
      expect(await readFile(file.path)).toHaveLength(file.bytes);
    }
  });

  test('are refused if a file is not what was finished', async () => {
    const store = await placed(5 << 20);
    for (const content of ['x', Buffer.alloc(6 << 20)]) {
      const file = { ...(await finished(content)), sha256: 'a'.repeat(64) };
      await expect(store.upload('key', file)).rejects.toMatchObject({ code: 'E_SINK_VERIFY' });
      await expect(store.create('key', file)).rejects.toMatchObject({ code: 'E_SINK_VERIFY' });
    }
    expect(await keysOf(store)).toEqual([]);
  });

  test('are listed below a prefix in the order of keys, also more than 1,000, and removed', async () => {
    const store = await placed();
    const keys = Array.from({ length: 1_005 }, (_, index) => `many/${String(index).padStart(4, '0')}`);
    for (let from = 0; from < keys.length; from += 50) await Promise.all(keys.slice(from, from + 50).map((key) => store.put(key, key)));
    await store.put('manyfold', '');
    expect(await keysOf(store, 'many/')).toEqual(keys);
    expect(await keysOf(store, 'many/100')).toEqual(keys.slice(1_000));
    expect(await keysOf(store, 'none')).toEqual([]);
    for await (const { bytes } of store.list('many/0000')) expect(bytes).toBe(9);
    await store.remove([...keys, 'missing']);
    expect(await keysOf(store)).toEqual(['manyfold']);
  });

  test('are listed and removed whatever their keys are', async () => {
    const store = await placed();
    const keys = ['a b', 'a%2Fb+c', "it's &<é>", 'p=\uFFFE/q', 'p=\uFFFF/q'].map((name) => `data/${name}`);
    for (const key of keys) await store.put(key, key);
    expect([...(await keysOf(store))].sort()).toEqual([...keys].sort());
    expect(await keysOf(store, 'data/p=\uFFFE')).toEqual(['data/p=\uFFFE/q']);
    await store.remove(await keysOf(store));
    expect(await keysOf(store)).toEqual([]);
  });

  test('are put whether they exist or not', async () => {
    const store = await placed();
    await store.put('hint', '1');
    await store.put('hint', '2');
    expect(await textOf(store, 'hint')).toBe('2');
  });

  test('are checked for conditions once', async () => {
    const store = await placed();
    await checkStore(store);
    await checkStore(store);
    expect(await keysOf(store)).toEqual(['_leadstream/probe.json']);
  });
});

describe('objects in a folder', () => {
  test('follow no link below it, and are never outside of it', async () => {
    const [folder, elsewhere] = [await temporaryFolder(), await temporaryFolder()];
    await symlink(elsewhere, join(folder, 'data'));
    const store = new DiskObjects(folder);
    for (const key of ['data/a', '../a', 'b/../../a'])
      for (const work of [() => store.read(key), () => store.create(key, ''), () => store.put(key, ''), () => store.remove([key])])
        await expect(work()).rejects.toMatchObject({ code: 'E_SINK_FOREIGN' });
    expect(await filesBelow(elsewhere)).toEqual([]);
  });

  test('have the permissions that are wished for, and no drafts of killed processes among them', async () => {
    const folder = await temporaryFolder();
    const store = new DiskObjects(folder, 0o640);
    await store.create('data/1/a', '');
    await store.upload('data/1/b', await finished('b'));
    for (const key of ['data/1/a', 'data/1/b']) expect((await stat(join(folder, key))).mode & 0o777).toBe(0o640);
    await writeFile(join(folder, 'data/1/c.0123456789abcdef.tmp'), '');
    expect(await keysOf(store)).toEqual(['data/1/a', 'data/1/b']);
    await store.abortUploads('data/1/');
    expect(await filesBelow(join(folder, 'data/1'))).toEqual(['a', 'b']);
  });
});

const secret = 'secret-of-the-test';

describe('a bucket that cannot be used', () => {
  keepEnvironment();
  beforeEach(() => {
    forgetVariables();
    const env = {
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'key-of-the-test',
      AWS_SECRET_ACCESS_KEY: secret,
      AWS_EC2_METADATA_DISABLED: 'true',
    };
    Object.assign(process.env, env, { AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' });
  });

  async function failureOf(work: () => Promise<unknown>): Promise<unknown> {
    const failure: unknown = await work().catch((thrown: unknown) => thrown);
    for (const text of [secret, 'key-of-the-test']) expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(text);
    return failure;
  }

  const answers: readonly (readonly [string, number, string, string, string])[] = [
    ['PermanentRedirect', 301, '', 'E_SINK_PATH', 'eu-north-1'],
    ['AuthorizationHeaderMalformed', 400, '<Region>eu-west-3</Region>', 'E_SINK_PATH', 'eu-west-3'],
    ['ExpiredToken', 400, `<Token-0>${secret}</Token-0>`, 'E_SINK_PATH', 'expired'],
    ['InvalidAccessKeyId', 403, '<AWSAccessKeyId>key-of-the-test</AWSAccessKeyId>', 'E_SINK_PATH', 'check the access key'],
    ['SignatureDoesNotMatch', 403, `<StringToSign>${secret}</StringToSign>`, 'E_SINK_PATH', 'check the access key'],
    ['AccessDenied', 403, '', 'E_SINK_PATH', 'even for what is missing'],
    ['NoSuchBucket', 404, '', 'E_SINK_PATH', 'create the bucket'],
    ['InvalidRequest', 400, secret, 'E_SINK_WRITE', 'InvalidRequest 400'],
  ];
  test.each(answers)('because of %s is named, and nothing else of the answer', async (name, status, more, code, text) => {
    const body = `<?xml version="1.0"?><Error><Code>${name}</Code><Message>${secret}</Message>${more}</Error>`;
    const headers = status === 301 ? { 'x-amz-bucket-region': 'eu-north-1' } : {};
    await withServer(answer(status, body, { 'content-type': 'application/xml', ...headers }), async ({ url }) => {
      const store = new S3Objects('s3://bucket/place', { endpoint: url });
      for (const work of [
        () => store.read('key'),
        () => store.create('key', ''),
        () => store.replace('key', '', '"1"'),
        () => checkStore(store),
      ])
        expect(await failureOf(work)).toMatchObject({ code, message: expect.stringContaining(text) });
    });
  });

  test.each([
    ['without credentials', { AWS_ACCESS_KEY_ID: undefined }, 'E_SINK_PATH', 'CredentialsProviderError: set AWS_ACCESS_KEY_ID'],
    ['with an endpoint that is not a URL', { AWS_ENDPOINT_URL: 'nonsense' }, 'E_SINK_PATH', 'the endpoint is not a URL'],
    ['with an empty region', { AWS_REGION: '' }, 'E_SINK_CONFIG', 'set region under store'],
    ['without a region', { AWS_REGION: undefined }, 'E_SINK_CONFIG', 'set region under store'],
  ])('%s is named', async (_, env, code, text) => {
    for (const [name, value] of Object.entries({ AWS_ENDPOINT_URL: 'http://127.0.0.1:9', ...env }))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    expect(await failureOf(() => new S3Objects('s3://bucket').read('key'))).toMatchObject({ code, message: expect.stringContaining(text) });
  });

  test('because it may not be read is never taken for an empty one', async () => {
    await withServer(answer(403), async ({ url }) => {
      const store = new S3Objects('s3://bucket/place', { endpoint: url });
      for (const work of [() => store.read('key'), () => store.find('key'), () => keysOf(store), () => store.remove(['key'])])
        expect(await failureOf(work)).toMatchObject({ code: 'E_SINK_PATH', message: expect.stringContaining('allow s3:ListBucket') });
    });
  });

  test('because it has no name is refused', () => {
    expect(() => new S3Objects('s3:///place')).toThrow(expect.objectContaining({ code: 'E_SINK_CONFIG' }));
  });

  test('for a moment is tried again, unless an attempt must be the only one', async () => {
    const busy = answer(503, '<Error><Code>SlowDown</Code></Error>');
    const cut: Handler = (response) => void response.destroy();
    const half: Handler = (response) =>
      void response.writeHead(200, { 'content-length': '9', etag: '"1"' }).write('half', () => response.destroy());
    await withServer(inTurn(busy, cut, half, answer(200, 'whole', { etag: '"2"' })), async ({ url, requests }) => {
      const store = new S3Objects('s3://bucket/place', { endpoint: url });
      expect(await store.read('key')).toEqual({ bytes: Buffer.from('whole'), version: '"2"' });
      expect(requests.map(({ pathname }) => pathname)).toEqual(Array.from({ length: 4 }, () => '/bucket/place/key'));
    });
    await withServer(answer(403, '<Error><Code>RequestTimeTooSkewed</Code></Error>'), async ({ url }) => {
      const failure = await failureOf(() => new S3Objects('s3://bucket/place', { endpoint: url }).create('key', ''));
      expect(failure).toMatchObject({ code: 'E_SINK_PATH', message: expect.stringMatching(/403: set the clock of this machine$/) });
    });
    await withServer(busy, async ({ url, requests }) => {
      const store = new S3Objects('s3://bucket/place', { endpoint: url });
      for (const work of [() => store.create('key', ''), () => store.replace('key', '', '"1"')])
        expect(await failureOf(work)).toMatchObject({ code: 'E_SINK_WRITE', help: expect.stringMatching(/store or catalog is busy/) });
      expect(requests).toHaveLength(2);
    });
  });

  test.each(endless)('because it answers with %s is given up, and asked again', async (_, handler) => {
    const whole = answer(200, 'whole', { etag: '"2"' });
    await withServer(inTurn(handler, handler, whole, handler, whole), async ({ url }) => {
      const store = new S3Objects('s3://bucket/place', { endpoint: url }, undefined, undefined, { bytes: 1 << 20, ms: 50 });
      expect(await failureOf(() => store.create('key', 'x'))).toMatchObject({ code: 'E_SINK_WRITE' });
      expect((await store.read('key'))?.bytes.toString()).toBe('whole');
      const copy = join(await temporaryFolder(), 'copy');
      await store.download('key', copy);
      expect(await readFile(copy, 'utf8')).toBe('whole');
    });
  });

  test('because it is slow is used, as long as enough arrives', async () => {
    const slow: Handler = (response) => {
      const timer = setInterval(() => void response.write('12345'), 10);
      setTimeout(() => (clearInterval(timer), response.end('end')), 1_200);
    };
    await withServer(inTurn(slow, answer(404)), async ({ url }) => {
      const store = new S3Objects('s3://bucket/place', { endpoint: url }, undefined, undefined, { bytes: 5, ms: 400 });
      expect((await store.read('key'))?.bytes.toString()).toMatch(/^(?:12345)+end$/);
    });
  });

  test('because it names the uploads page by page is cleaned up as a whole', async () => {
    const page = (key: string, more = '') =>
      answer(
        200,
        `<ListMultipartUploadsResult>${more}<Upload><Key>place/${key}</Key><UploadId>of-${key}</UploadId></Upload></ListMultipartUploadsResult>`,
      );
    const next = '<IsTruncated>true</IsTruncated><NextKeyMarker>place/a</NextKeyMarker><NextUploadIdMarker>of-a</NextUploadIdMarker>';
    const handler: Handler = (...asked) => {
      const [, { searchParams }, , { method }] = asked;
      if (method === 'DELETE') answer(204)(...asked);
      else (searchParams.get('upload-id-marker') === 'of-a' ? page('b') : page('a', next))(...asked);
    };
    await withServer(handler, async ({ url, requests }) => {
      await new S3Objects('s3://bucket/place', { endpoint: url }).abortUploads('');
      expect(requests.flatMap(({ searchParams }) => searchParams.get('uploadId') ?? [])).toEqual(['of-a', 'of-b']);
      expect(requests.flatMap(({ searchParams }) => searchParams.get('key-marker') ?? [])).toEqual(['place/a']);
    });
  });

  test('because it overwrites silently is refused, unless there is a single writer', async () => {
    await withServer(silent(), async ({ url }) => {
      const store = new S3Objects('s3://bucket/place', { endpoint: url });
      expect(await failureOf(() => checkStore(store))).toMatchObject({
        code: 'E_SINK_PATH',
        message: expect.stringContaining('single_writer: true'),
      });
      await checkStore(store, { single_writer: true });
    });
  });
});

/** A store that knows no conditions. */
function silent(objects = new Map<string, Buffer>()): Handler {
  return (response, { pathname }, _, request) =>
    void request.toArray().then((chunks: Buffer[]) => {
      if (request.method === 'PUT') objects.set(pathname, Buffer.concat(chunks));
      if (request.method === 'DELETE') objects.delete(pathname);
      const found = objects.get(pathname);
      const etag = createHash('md5')
        .update(found ?? '')
        .digest('hex');
      response.writeHead(found === undefined ? 404 : 200, { etag }).end(request.method === 'GET' ? found : undefined);
    });
}

if (seaweedfsMissing === undefined)
  describe('a bucket of SeaweedFS', () => {
    keepEnvironment();

    test('that is missing, or for others, is named', async () => {
      const { env, readerEnv } = await seaweedfs();
      const cases = [
        ['missing', env, 'NoSuchBucket'],
        [bucket, { ...env, AWS_ACCESS_KEY_ID: 'other' }, 'InvalidAccessKeyId'],
        [bucket, { ...env, AWS_SECRET_ACCESS_KEY: 'other' }, 'SignatureDoesNotMatch'],
        [bucket, readerEnv, 'AccessDenied'],
      ] as const;
      for (const [name, env, text] of cases) {
        Object.assign(process.env, env);
        const store = new S3Objects(`s3://${name}/${randomUUID()}`);
        await expect(checkStore(store)).rejects.toMatchObject({ code: 'E_SINK_PATH', message: expect.stringContaining(text) });
      }
    });

    test('keeps no upload that failed, and none after those of others below a prefix were aborted', async () => {
      const store = await inBucket(5 << 20);
      const client = new S3Client({ endpoint: process.env['AWS_ENDPOINT_URL_S3'] ?? '', forcePathStyle: true });
      const place = store.root.replace(`s3://${bucket}/`, '');
      const open = async () =>
        (await client.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: place }))).Uploads?.map(({ Key }) => Key);
      await store.create('taken', 'by another');
      await expect(store.upload('taken', await finished(Buffer.alloc(6 << 20)))).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
      expect(await open()).toBe(undefined);
      for (const key of ['data/1/a', 'data/1/b', 'data/2/c'])
        await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: `${place}/${key}` }));
      await store.abortUploads('data/1/');
      expect(await open()).toEqual([`${place}/data/2/c`]);
      client.destroy();
    });
  });
