import { expect, test } from '@jest/globals';
import { postJson } from '../../../src/http/index.js';
import { webhook } from '../../support/webhook.js';

test('postJson gives up a server that hangs after the time that it has', async () => {
  const { url, told } = await webhook(['hang']);
  const message = { url, json: { a: 1 }, label: 'the hook', timeoutMs: 200, proxy: undefined };
  await expect(postJson(message)).rejects.toMatchObject({ kind: 'transient', message: 'the hook: no response in time' });
  expect(told.map(({ body }) => body)).toEqual(['{"a":1}']);
});
