import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { randomUUID } from 'node:crypto';
import { checkStore, type ObjectStore } from '../../../src/store/index.js';
import { S3Objects } from '../../../src/store/s3.js';
import { describeObjects, finished, keepEnvironment } from '../../contracts/objects.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { bucket, seaweedfs } from '../../support/seaweedfs.js';

/** Another store to test, which the environment leads to: see `test/stores`. */
const other = process.env['TEST_STORE'];

async function inBucket(partBytes?: number): Promise<ObjectStore> {
  if (other === undefined) Object.assign(process.env, (await seaweedfs()).env);
  return new S3Objects(`s3://${bucket}/${randomUUID()}`, {}, partBytes);
}

if (other === undefined) inSeaweedFS('a store', () => describeObjects('a bucket', inBucket));
else describeObjects(`a bucket of ${other}`, inBucket);

inSeaweedFS('a bucket', () => {
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
