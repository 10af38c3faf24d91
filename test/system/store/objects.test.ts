import { createHash } from 'node:crypto';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { DiskObjects } from '../../../src/store/disk-objects.js';
import { checkStore } from '../../../src/store/index.js';
import { S3Objects } from '../../../src/store/s3.js';
import { describeObjects, finished, forgetVariables, keepEnvironment, keysOf } from '../../contracts/objects.js';
import { answer, endless, inTurn, ownServer, type Handler } from '../../support/odd-server.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

describeObjects('a folder', async () => new DiskObjects(join(await temporaryFolder(), 'place')));

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
    ['AccessDenied', 403, '', 'E_SINK_PATH', 'to missing objects'],
    ['NoSuchBucket', 404, '', 'E_SINK_PATH', 'create the bucket'],
    ['InvalidRequest', 400, secret, 'E_SINK_WRITE', 'InvalidRequest 400'],
  ];
  test.each(answers)('because of %s is named, and nothing else of the answer', async (name, status, more, code, text) => {
    const body = `<?xml version="1.0"?><Error><Code>${name}</Code><Message>${secret}</Message>${more}</Error>`;
    const headers = status === 301 ? { 'x-amz-bucket-region': 'eu-north-1' } : {};
    const { url } = await ownServer(answer(status, body, { 'content-type': 'application/xml', ...headers }));
    const store = new S3Objects('s3://bucket/place', { endpoint: url });
    for (const work of [
      () => store.read('key'),
      () => store.create('key', ''),
      () => store.replace('key', '', '"1"'),
      () => checkStore(store),
    ])
      expect(await failureOf(work)).toMatchObject({ code, message: expect.stringContaining(text) });
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
    const { url } = await ownServer(answer(403));
    const store = new S3Objects('s3://bucket/place', { endpoint: url });
    for (const work of [() => store.read('key'), () => store.find('key'), () => keysOf(store), () => store.remove(['key'])])
      expect(await failureOf(work)).toMatchObject({ code: 'E_SINK_PATH', message: expect.stringContaining('allow s3:ListBucket') });
  });

  test('because it has no name is refused', () => {
    expect(() => new S3Objects('s3:///place')).toThrow(expect.objectContaining({ code: 'E_SINK_CONFIG' }));
  });

  test('for a moment is tried again, unless an attempt must be the only one', async () => {
    const busy = answer(503, '<Error><Code>SlowDown</Code></Error>');
    const cut: Handler = (response) => void response.destroy();
    const half: Handler = (response) =>
      void response.writeHead(200, { 'content-length': '9', etag: '"1"' }).write('half', () => response.destroy());
    const { url, requests } = await ownServer(inTurn(busy, cut, half, answer(200, 'whole', { etag: '"2"' })));
    const store = new S3Objects('s3://bucket/place', { endpoint: url });
    expect(await store.read('key')).toEqual({ bytes: Buffer.from('whole'), version: '"2"' });
    expect(requests.map(({ pathname }) => pathname)).toEqual(Array.from({ length: 4 }, () => '/bucket/place/key'));

    const skewed = await ownServer(answer(403, '<Error><Code>RequestTimeTooSkewed</Code></Error>'));
    const failure = await failureOf(() => new S3Objects('s3://bucket/place', { endpoint: skewed.url }).create('key', ''));
    expect(failure).toMatchObject({ code: 'E_SINK_PATH', message: expect.stringMatching(/403: set the clock of this machine$/) });
    const once = await ownServer(busy);
    const own = new S3Objects('s3://bucket/place', { endpoint: once.url });
    for (const work of [() => own.create('key', ''), () => own.replace('key', '', '"1"')])
      expect(await failureOf(work)).toMatchObject({ code: 'E_SINK_WRITE', help: expect.stringMatching(/store or catalog is busy/) });
    expect(once.requests).toHaveLength(2);
  });

  test.each(endless)('because it answers with %s is given up, and asked again', async (_, handler) => {
    const whole = answer(200, 'whole', { etag: '"2"' });
    const { url } = await ownServer(inTurn(handler, handler, whole, handler, whole));
    const store = new S3Objects('s3://bucket/place', { endpoint: url }, undefined, undefined, { bytes: 1 << 20, ms: 50 });
    expect(await failureOf(() => store.create('key', 'x'))).toMatchObject({ code: 'E_SINK_WRITE' });
    expect((await store.read('key'))?.bytes.toString()).toBe('whole');
    const copy = join(await temporaryFolder(), 'copy');
    await store.download('key', copy);
    expect(await readFile(copy, 'utf8')).toBe('whole');
  });

  test('because it is slow is used, as long as enough arrives', async () => {
    const slow: Handler = (response) => {
      const timer = setInterval(() => void response.write('12345'), 10);
      setTimeout(() => (clearInterval(timer), response.end('end')), 2_400);
    };
    const { url } = await ownServer(inTurn(slow, answer(404)));
    const store = new S3Objects('s3://bucket/place', { endpoint: url }, undefined, undefined, { bytes: 5, ms: 1_000 });
    expect((await store.read('key'))?.bytes.toString()).toMatch(/^(?:12345)+end$/);
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
    const { url, requests } = await ownServer(handler);
    await new S3Objects('s3://bucket/place', { endpoint: url }).abortUploads('');
    expect(requests.flatMap(({ searchParams }) => searchParams.get('uploadId') ?? [])).toEqual(['of-a', 'of-b']);
    expect(requests.flatMap(({ searchParams }) => searchParams.get('key-marker') ?? [])).toEqual(['place/a']);
  });

  test('because it overwrites silently is refused, unless there is a single writer', async () => {
    const { url } = await ownServer(silent());
    const store = new S3Objects('s3://bucket/place', { endpoint: url });
    expect(await failureOf(() => checkStore(store))).toMatchObject({
      code: 'E_SINK_PATH',
      message: expect.stringContaining('single_writer: true'),
    });
    await checkStore(store, { single_writer: true });
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
