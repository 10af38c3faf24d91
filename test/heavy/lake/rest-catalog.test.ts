import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { LeadstreamError } from '../../../src/core/index.js';
import { RestCatalog, type CatalogOptions, type CatalogTable, type Update } from '../../../src/lake/iceberg/index.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { seaweedfs, warehouse } from '../../support/seaweedfs.js';

/** An id of 63 bits, as other programs give them. */
const foreign = 9223372036854775807n;

/** Others by `test/readers/rest-catalog.sh`. */
const other = process.env['REST_CATALOG'];

(other === undefined ? inSeaweedFS : describe)('a REST catalog of others', () => {
  const name = `rest.days.leads_${randomUUID().slice(0, 8)}`;
  const open = async (given: Partial<CatalogOptions> = {}) => {
    const uri = other ?? `${(await seaweedfs()).catalog}/`;
    return new RestCatalog({ uri, name, warehouse, credential: 'writer:writer-secret', scope: 'catalog', ...given });
  };

  test('keeps the ids of a first commit, decides races, and goes back and forth between snapshots', async () => {
    const catalog = await open();
    const location = await catalog.location();
    const schema = (id: number, ...names: readonly string[]) => {
      const fields = names.map((name, index) => ({ id: index + 1, name, required: false, type: index === 0 ? 'date' : 'string' }));
      return { type: 'struct' as const, 'schema-id': id, fields };
    };
    const spec = { 'spec-id': 0, fields: [{ 'source-id': 1, 'field-id': 1000, name: 'day_month', transform: 'month' }] };
    const creation: readonly Update[] = [
      { action: 'assign-uuid', uuid: randomUUID() },
      { action: 'upgrade-format-version', 'format-version': 2 },
      { action: 'set-location', location },
      { action: 'add-schema', schema: schema(0, 'day', 'email'), 'last-column-id': 2 },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'add-spec', spec },
      { action: 'set-default-spec', 'spec-id': -1 },
      { action: 'add-sort-order', 'sort-order': { 'order-id': 0, fields: [] } },
      { action: 'set-default-sort-order', 'sort-order-id': -1 },
    ];
    const next = (base: CatalogTable | undefined, id: number | bigint): readonly Update[] => {
      const { 'current-snapshot-id': parent = -1, 'last-sequence-number': last = 0 } = base?.metadata ?? {};
      const about = {
        'snapshot-id': id,
        ...(parent !== -1 && { 'parent-snapshot-id': parent }),
        'sequence-number': last + 1,
        'schema-id': 0,
      };
      const summary = { operation: 'append', 'leadstream.run': `r${id}` };
      const snapshot = { ...about, 'timestamp-ms': Date.now(), 'manifest-list': `${location}/metadata/${id}.avro`, summary };
      return [{ action: 'add-snapshot', snapshot }, main(id)];
    };
    const main = (id: number | bigint): Update => ({ action: 'set-snapshot-ref', 'ref-name': 'main', 'snapshot-id': id, type: 'branch' });
    const commit = async (base: CatalogTable, updates: readonly Update[]) => {
      const committed = await (await open()).commit(base, updates);
      if (committed === 'lost') throw new Error('lost');
      return committed;
    };

    const first = await catalog.commit(undefined, [...creation, ...next(undefined, 1)]);
    if (first === 'lost') throw new Error('lost');
    expect(first).toMatchObject({
      sequence: 1,
      metadata: { location, 'current-snapshot-id': 1, 'default-spec-id': 0, 'current-schema-id': 0 },
    });
    expect(first.metadata['partition-specs']).toEqual([spec]);
    expect(first.metadata.schemas).toMatchObject([schema(0, 'day', 'email')]);
    const second = await catalog.commit(undefined, [...creation, ...next(undefined, 2)]).catch(codeOf);
    expect(['lost', 'E_RUN_LOCKED']).toContain(second);

    const racers = await Promise.all([3, 4, 5].map(async (id) => (await open()).commit(first, next(first, id))));
    expect(racers.filter((outcome) => outcome === 'lost')).toHaveLength(2);
    const base = await catalog.load();
    expect(base).toMatchObject({ sequence: 2, metadata: { snapshots: { length: 2 } } });
    if (base === undefined) throw new Error('missing');

    const foreignId = await commit(base, next(base, foreign));
    expect((await catalog.load())?.metadata).toMatchObject({ 'current-snapshot-id': foreign, 'last-sequence-number': 3 });
    const wider = await commit(foreignId, [
      { action: 'add-schema', schema: schema(1, 'day', 'email', 'city'), 'last-column-id': 3 },
      { action: 'set-current-schema', 'schema-id': -1 },
      ...next(foreignId, 6),
    ]);
    const back = await commit(wider, [main(foreign)]);
    const expired = await commit(back, [{ action: 'remove-snapshots', 'snapshot-ids': [1, 6] }]);
    expect(expired.metadata).toMatchObject({ 'current-snapshot-id': foreign, 'current-schema-id': 1, snapshots: { length: 2 } });
    expect((await catalog.load())?.metadata).toEqual(expired.metadata);
  });

  (other === undefined ? test : test.skip).each<[Partial<CatalogOptions>, RegExp]>([
    [{ credential: 'writer:another-secret' }, /token from .*: HTTP 401: .*: invalid_client: Invalid client credentials; check/],
    [{ credential: undefined, token: 'no-token-of-theirs' }, /HTTP 401: .*; check the token or credential/],
    [{ credential: undefined }, /HTTP 403: .*; check the token or credential/],
    [{ warehouse: 'nowhere' }, /no place for rest\.days\.leads_.*: .*table bucket nowhere not found/],
  ])('names who has to act: %j', async (given, message) => {
    const catalog = await open(given);
    await expect(catalog.location()).rejects.toMatchObject({ code: 'E_SINK_PATH', message: expect.stringMatching(message) });
  });
});

function codeOf(failure: unknown): unknown {
  return failure instanceof LeadstreamError ? failure.code : failure;
}
