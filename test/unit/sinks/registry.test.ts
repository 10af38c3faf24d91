import { sinks } from '../../../src/sinks/index.js';

describe.each(Object.entries(sinks))('the sink %s', (_name, sink) => {
  test.each(sink.examples.map((example) => [JSON.stringify(example), example]))('accepts its example %s', (_text, example) => {
    expect(sink.config().safeParse(example).error).toBeUndefined();
  });
});

test.each([
  ['compression', { engine: 'parquetjs-lite', compression: 'zstd' }],
  ['sort_by', { engine: 'parquetjs-lite', sort_by: ['uid'] }],
  ['threads', { engine: 'parquetjs-lite', threads: 1 }],
  ['threads', { threads: 2 }],
  ['mode', { mode: 'replace_partitions' }],
  ['key', { key: ['uid'] }],
  ['partition_by', { partition_by: ['uid'], columns: ['email'] }],
  ['permissions', { permissions: '0999' }],
])('sinks.parquet refuses a %s that does not go with the rest', (key, options) => {
  const { error } = sinks.parquet.config().safeParse({ path: 'lake/t', ...options });
  expect(error?.issues.map(({ path }) => path[0])).toEqual([key]);
});
