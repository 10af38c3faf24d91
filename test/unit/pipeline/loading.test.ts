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
    ['a value to set that is no text', [...given, { set: { 'service.limit': 100 } }], `${name}: set.service.limit must be a text`],
  ])('%s', async (_what, wrong, message) => {
    await expect(load(...wrong)).rejects.toMatchObject({ code: 'E_USAGE', message: expect.stringContaining(message) });
  });
});
