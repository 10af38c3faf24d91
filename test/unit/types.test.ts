import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import * as leadstream from '../../src/leadstream.js';
import * as pipelines from '../../src/pipelines.js';
import * as service from '../../src/service/index.js';
import * as tables from '../../src/tables.js';
import * as testing from '../../src/testing.js';

const functions = [leadstream, pipelines, tables, service, testing].flatMap((module) =>
  Object.entries(module).flatMap(([name, value]) => (typeof value === 'function' ? [name] : [])),
);

/** Methods of what `service.leads` is. */
const methods = prototypesOf(
  leadstream.connect({ baseUrl: 'http://127.0.0.1:9', auth: { rest_api_key: 'key-of-the-test' } }).leads,
).flatMap((prototype) =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    typeof value === 'function' && name !== 'constructor' ? [name] : [],
  ),
);

function prototypesOf(value: object): readonly object[] {
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype ? [] : [prototype, ...prototypesOf(prototype)];
}

/** The statements of the tests of types: what the compiler takes, and what it has to refuse. */
async function statements(): Promise<{ readonly accepted: string; readonly refused: string }> {
  const folder = join('test', 'types');
  const texts = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
  const bodies = texts.map((text) => text.replaceAll(/^(?:import|export) [^;]*;$/gm, '')).join('\n');
  const expected = /\/\/ @ts-expect-error.*\n([^;]*;)/g;
  return {
    accepted: bodies.replaceAll(expected, ''),
    refused: [...bodies.matchAll(expected)].map(([, statement]) => statement).join('\n'),
  };
}

const missingIn = (text: string, names: readonly string[]) => names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text));

test('every function and method that is exported has its types tested, by what is accepted and by what is refused', async () => {
  const { accepted, refused } = await statements();
  const names = [...new Set([...functions, ...methods])].toSorted();
  expect({ accepted: missingIn(accepted, names), refused: missingIn(refused, names) }).toEqual({ accepted: [], refused: [] });
});
