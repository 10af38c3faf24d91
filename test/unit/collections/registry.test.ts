import { expect, test } from '@jest/globals';
import { collectionNames } from '../../../src/collections/index.js';
import { connect } from '../../../src/index.js';

test('a service has a stream for every collection of the registry, which is the one that it gives by name', async () => {
  await using service = connect({ baseUrl: 'http://127.0.0.1:9', auth: { rest_api_key: 'key-of-the-test' } });
  for (const name of collectionNames) expect(service[name].columns).toEqual(service.collection(name).columns);
  expect(Object.keys(service)).toEqual(['id', ...collectionNames, 'collection', 'close']);
});
