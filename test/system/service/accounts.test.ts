import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { accountsFromEnv } from '../../../src/service/index.js';
import { withService } from './support.js';

const statusWith = async (url: string, query: string): Promise<number> => (await fetch(`${url}/api/users?${query}`)).status;

describe('accounts', () => {
  test('accept the MD5 of the key alone when no rest api key is configured', async () => {
    const md5 = createHash('md5').update('k-e-y').digest('hex');
    await withService({ accounts: [{ uid: '7', key: 'k-e-y' }] }, async ({ url }) => {
      expect(await statusWith(url, `rest_api_key=${md5}`)).toBe(200);
    });
    await withService({ accounts: [{ uid: '7', key: 'k-e-y', restApiKey: 'own' }] }, async ({ url }) => {
      expect(await statusWith(url, `rest_api_key=${md5}`)).toBe(401);
      expect(await statusWith(url, 'rest_api_key=own')).toBe(200);
    });
  });

  test('are several, and the uid of one does not go with the key of another', async () => {
    await withService({ accounts: [{ uid: '1', key: 'a' }, { uid: '2', key: 'b' }, { restApiKey: 'c' }] }, async ({ url }) => {
      expect(await statusWith(url, 'authorized_uid=2&authorized_rest_api_key=b')).toBe(200);
      expect(await statusWith(url, 'authorized_uid=1&authorized_rest_api_key=b')).toBe(401);
      expect(await statusWith(url, 'rest_api_key=c')).toBe(200);
    });
  });

  test('come from the environment in both forms', () => {
    const two = { LEADSTREAM_AUTHORIZED_UID: '7', LEADSTREAM_AUTHORIZED_REST_API_KEY: 'k' };
    expect(accountsFromEnv(two)).toEqual([{ uid: '7', key: 'k' }]);
    expect(accountsFromEnv({ ...two, LEADSTREAM_REST_API_KEY: 'r' })).toEqual([{ uid: '7', key: 'k', restApiKey: 'r' }]);
    expect(accountsFromEnv({ LEADSTREAM_REST_API_KEY: 'r' })).toEqual([{ restApiKey: 'r' }]);
    expect(accountsFromEnv({ LEADSTREAM_REST_API_KEY: '' })).toEqual([]);
  });
});
