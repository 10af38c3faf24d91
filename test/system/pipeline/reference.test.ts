import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { parseAllDocuments } from 'yaml';
import { collectionNames, collections, columnsOf, type Collection } from '../../../src/collections/index.js';
import { environment } from '../../../src/core/index.js';
import { pipelineReference, pipelineSchema } from '../../../src/pipeline/index.js';

test('REFERENCE.md says what the definitions say; `npm run reference` writes it', async () => {
  expect(await readFile(join('pipelines', 'REFERENCE.md'), 'utf8')).toBe(`${await pipelineReference()}\n`);
});

test('pipeline.schema.json says what the definitions say; `npm run reference` writes it', async () => {
  expect(JSON.parse(await readFile(join('pipelines', 'pipeline.schema.json'), 'utf8'))).toEqual(await pipelineSchema());
});

test('lists every field of every collection with its name in the service, type, sensitivity and part in the key', async () => {
  const reference = await pipelineReference();
  const section = reference.slice(reference.indexOf('## Fields of the collections'), reference.indexOf('\n## rejects'));
  const listed = section.split(/^### /m).slice(1);
  expect(listed.map((text) => text.slice(0, text.indexOf('\n')))).toEqual(collectionNames);
  const rows = listed.map((text) =>
    [...text.matchAll(/^\| `(.+)` \| `(.+)` \| (\w+) \| (\w+) \| (\w*) \|$/gm)].map(([, ...cells]) => cells),
  );
  const all: readonly Collection[] = collectionNames.map((name) => collections[name]);
  expect(rows).toEqual(
    all.map((collection) =>
      columnsOf(collection, Object.keys(collection.fields)).map(({ name, original, type, sensitivity }) => {
        return [name, original, type, sensitivity, collection.key.includes(name) ? 'key' : ''];
      }),
    ),
  );
});

test.each((await readdir('pipelines')).filter((name) => name.endsWith('.yaml')))('an editor finds nothing wrong with %s', async (name) => {
  const validate = new Ajv({ strict: false }).compile(await pipelineSchema());
  for (const document of parseAllDocuments(await readFile(join('pipelines', name), 'utf8')))
    expect([validate(document.toJS()), validate.errors]).toEqual([true, null]);
});

test('every environment variable that the code names is in the reference', async () => {
  const files = (await readdir('src', { recursive: true })).filter((name) => name.endsWith('.ts'));
  const named = await Promise.all(
    files.map(async (name) => (await readFile(join('src', name), 'utf8')).match(/LEADSTREAM_[A-Z_]*[A-Z]/g) ?? []),
  );
  expect([...new Set(named.flat())].sort()).toEqual(
    Object.keys(environment)
      .filter((name) => name.startsWith('LEADSTREAM_'))
      .sort(),
  );
});

test('an editor finds what is wrong', async () => {
  const validate = new Ajv({ strict: false }).compile(await pipelineSchema());
  expect(validate({ name: 'x', from: 'leads', steps: [{ dedup: {} }], to: [{ csv: { path: 'x' } }] })).toBe(false);
  expect(validate({ name: 'x', from: 'leads', to: [{ csv: { path: 'x', delimeter: ';' } }] })).toBe(false);
});
