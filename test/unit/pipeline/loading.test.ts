import { describe, expect, test } from '@jest/globals';
import { loadPipeline, loadPipelines, parsePipeline, parsePipelines } from '../../../src/pipeline/index.js';

const functions = { loadPipeline, loadPipelines, parsePipeline, parsePipelines } as unknown as Readonly<
  Record<string, (...given: readonly unknown[]) => Promise<unknown>>
>;

describe.each(Object.entries(functions))('%s refuses', (name, load) => {
  const given = name.startsWith('load') ? ['pipeline.yaml'] : ['name: x', 'pipeline.yaml'];

  test.each<[string, readonly unknown[], string]>([
    ['nothing', [], `${name}: file is missing: it must be a text`],
    ['a file that is none', [...given.slice(0, -1), 7], `${name}: file must be a text that is not empty, not 7`],
    ['an option that nobody knows', [...given, { basedir: '/' }], `${name}: unknown option 'basedir', did you mean 'baseDir'?`],
    ['an environment that is none', [...given, { env: 'HOME' }], `${name}: env must be an object of strings, like process.env`],
    ['an environment of numbers', [...given, { env: { A: 1 } }], `${name}: env must be an object of strings, like process.env`],
    ['a value to set that is no text', [...given, { set: { 'service.limit': 100 } }], `${name}: set.service.limit must be a text`],
  ])('%s', async (_what, wrong, message) => {
    await expect(load(...wrong)).rejects.toMatchObject({ code: 'E_USAGE', message: expect.stringContaining(message) });
  });
});

test('the environment may be of a class, as that of Node is', async () => {
  const env = Object.assign(Object.create({ hasOwnProperty: () => true }) as object, {
    HOST: 'http://127.0.0.1:9',
    KEY: 'a-key-of-a-test',
  });
  const text = `name: x\nservice: { base_url: '\${HOST}', auth: { rest_api_key: '\${KEY}' } }\nfrom: users\nto:\n  - stdout: {}`;
  expect((await parsePipeline(text, 'p.yaml', { env })).connection).toMatchObject({ baseUrl: env.HOST });
});
