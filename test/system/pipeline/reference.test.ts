import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parseAllDocuments } from 'yaml';
import { environment } from '../../../src/core/index.js';
import { pipelineReference, pipelineSchema } from '../../../src/plan/index.js';

test('REFERENCE.md says what the definitions say; `npm run reference` writes it', async () => {
  expect(await readFile(join('pipelines', 'REFERENCE.md'), 'utf8')).toBe(`${await pipelineReference()}\n`);
});

test('pipeline.schema.json says what the definitions say; `npm run reference` writes it', async () => {
  expect(JSON.parse(await readFile(join('pipelines', 'pipeline.schema.json'), 'utf8'))).toEqual(await pipelineSchema());
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
  const known = Object.keys(environment).filter((name) => name.startsWith('LEADSTREAM_'));
  expect([...new Set(named.flat())].sort()).toEqual(known.sort());
});
