import { exchange } from '../../../src/http/index.js';
import { webhook } from '../../support/webhook.js';

const post = { type: 'application/json', body: '{"a":1}' };

test('exchange gives up a server that hangs after the time that it has', async () => {
  const { url, told } = await webhook(['hang']);
  const asked = exchange({ url, post, label: 'the hook', attempts: 1, attemptMs: 200, proxy: false });
  await expect(asked).rejects.toMatchObject({ kind: 'transient', message: 'the hook: no response in time (request)' });
  expect(told.map(({ body }) => body)).toEqual(['{"a":1}']);
});

test('exchange sends the user of an address, and takes any status of success for a POST', async () => {
  const { url, told } = await webhook([202]);
  const withUser = url.replace('//', '//me:pass%20word@');
  await expect(exchange({ url: withUser, post, label: 'the hook', attempts: 1, proxy: false })).resolves.toMatchObject({ status: 202 });
  expect(told).toMatchObject([{ body: '{"a":1}', authorization: `Basic ${Buffer.from('me:pass word').toString('base64')}` }]);
});
