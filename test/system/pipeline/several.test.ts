import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { SpecError } from '../../../src/core/errors.js';
import { loadPipeline, loadPipelines, parsePipeline, parsePipelines } from '../../../src/pipeline/index.js';
import { temporaryFolder } from '../../support/temporary.js';

const env = { LEADSTREAM_BASE_URL: 'https://data.example', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
const document = (name: string, path = `${name}.csv`) => `name: ${name}\nfrom: users\nto:\n  - csv: { path: ${path} }\n`;
const file = (...documents: readonly string[]) => documents.join('---\n');
const parse = (text: string, set: Record<string, string> = {}) => parsePipelines(text, 'p.yaml', { env, set, baseDir: '/base' });

async function problems(text: string, set: Record<string, string> = {}): Promise<readonly string[]> {
  try {
    await parse(text, set);
  } catch (error) {
    if (error instanceof SpecError) return error.message.split('\n');
    throw error;
  }
  return [];
}

describe('a file of several pipelines', () => {
  test('gives them in the order of the file', async () => {
    expect((await parse(file(document('b'), document('a')))).map(({ name }) => name)).toEqual(['b', 'a']);
  });

  test.each([
    ['behind the last separator', `${document('a')}---\n`],
    ['of comments alone', `# first\n---\n${document('a')}---\n# nothing more\n`],
    ['between two pipelines', `${document('a')}---\n---\n`],
  ])('has no pipeline in an empty document %s', async (_what, text) => {
    expect((await parse(text)).map(({ name }) => name)).toEqual(['a']);
    expect((await parsePipeline(text, 'p.yaml', { env })).name).toBe('a');
  });

  test('has problems at the lines of the whole file, those of all documents at once', async () => {
    const text = file(document('a').replace('csv', 'cvs'), document('b'), document('c').replace('users', 'user'));
    expect(await problems(text)).toEqual([
      "p.yaml:4:5 unknown sink 'cvs', did you mean 'csv'?",
      expect.stringMatching(/^p\.yaml:12:7 .*did you mean 'users'\?$/),
    ]);
  });

  test('has broken YAML at the line of the whole file', async () => {
    expect((await problems(file(document('a'), 'name: b\nname: b\n')))[0]).toMatch(/^p\.yaml:7:1 /);
    expect(await problems(file(document('a'), 'name: &b b\nfrom: *b\n'))).toEqual([
      'p.yaml:6:10 anchors and aliases (& and *) are not accepted: write the value out, or put what pipelines share under defaults; a value that begins with & or * needs quotes',
    ]);
  });

  test('has a name once', async () => {
    expect(await problems(file(document('a'), document('b'), document('a', 'other.csv')))).toEqual([
      "p.yaml:11:7 the name 'a' is taken by the pipeline on line 1",
    ]);
  });

  test.each([
    ['the same file', document('b', 'a.csv'), "p.yaml:9:10 the pipeline 'a' already writes to the same or an overlapping path"],
    ['a file within', document('b', 'a.csv/b.csv'), "p.yaml:9:10 the pipeline 'a' already writes to the same or an overlapping path"],
    [
      'the rejects of another',
      `${document('b')}rejects: { path: a.csv.rejects.ndjson }\n`,
      "p.yaml:10:18 the pipeline 'a' already writes to the same or an overlapping path",
    ],
  ])('has outputs that differ: not %s', async (_what, other, problem) => {
    expect(await problems(file(document('a'), other))).toEqual([problem]);
  });

  test('has one pipeline at most that writes to stdout', async () => {
    const printing = (name: string) => `name: ${name}\nfrom: users\nto:\n  - stdout: {}\n`;
    expect(await problems(file(printing('a'), printing('b')))).toEqual(["p.yaml:9:13 the pipeline 'a' already writes to stdout"]);
  });

  test('takes --set in every document', async () => {
    const pipelines = await parse(file(document('a'), document('b')), { from: 'bridges' });
    expect(pipelines.map(({ plan }) => plan.collection.name)).toEqual(['bridges', 'bridges']);
    expect(await problems(file(document('a'), document('b')), { name: 'c' })).toHaveLength(1);
  });

  test('is refused where one pipeline is wanted', async () => {
    await expect(parsePipeline(file(document('a'), document('b')), 'p.yaml', { env })).rejects.toThrow(
      'p.yaml:6:1 the file contains 2 pipelines, but one is expected here; load them with loadPipelines, or keep one per file',
    );
  });

  test('is read from disk', async () => {
    const path = join(await temporaryFolder(), 'p.yaml');
    await writeFile(path, file(document('a'), document('b')));
    expect((await loadPipelines(path, { env })).map(({ name }) => name)).toEqual(['a', 'b']);
    await expect(loadPipeline(path, { env })).rejects.toThrow('contains 2 pipelines');
  });
});

test('a file without anything is told to lack what a pipeline needs', async () => {
  expect(await problems('')).toEqual(['p.yaml:1:1 the file is empty; a pipeline is a map with name, from and to']);
});
