import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { csv, ndjson, parquet, sinks } from '../../../src/sinks/index.js';
import { fileSinkContract } from './contract.js';
import { elsewhere } from '../../support/sinks.js';
import { duckdb } from '../../support/duckdb.js';

/** Every sink that publishes files; stdout has tests of its own. `types: typed` makes `age` a number that can fail to cast. */
fileSinkContract({
  name: 'csv',
  final: 'users.csv',
  open: (context, onError) => csv({ path: 'out/users.csv', types: 'typed', on_error: onError }, context),
  openElsewhere: elsewhere(sinks.csv, { path: 'out/users.csv' }),
  read: (baseDir) => duckdb(`SELECT * FROM read_csv('${join(baseDir, 'out/users.csv')}', all_varchar = true, header = true)`),
});

fileSinkContract({
  name: 'ndjson',
  final: 'users.ndjson',
  open: (context, onError) => ndjson({ path: 'out/users.ndjson', types: 'typed', on_error: onError }, context),
  openElsewhere: elsewhere(sinks.ndjson, { path: 'out/users.ndjson' }),
  read: async (baseDir) => {
    const lines = (await readFile(join(baseDir, 'out/users.ndjson'), 'utf8')).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line)).map(({ uid, age }) => ({ uid, age: String(age) }));
  },
});

for (const engine of ['arrow', 'parquetjs-lite'] as const) {
  fileSinkContract({
    name: `parquet by ${engine}`,
    final: 'users',
    open: (context, onError) => parquet({ path: 'out/users', engine, on_error: onError }, context),
    openElsewhere: elsewhere(sinks.parquet, { path: 'out/users', engine }),
    read: (baseDir) => duckdb(`SELECT uid, age::VARCHAR AS age FROM '${join(baseDir, 'out/users/*.parquet')}'`),
  });
}
