import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { defaults, getIn, usually } from '../../../src/options/index.js';
import { pipelineSchema } from '../../../src/pipeline/index.js';
import { duration, writtenDuration } from '../../../src/pipeline/spec/units.js';

const constants: Readonly<Record<string, number>> = { ...defaults };

/** The options whose doc comments name a number as the default, with that number. */
function documented(folder: string): readonly (readonly [place: string, option: string, said: number])[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s+readonly (\w+)\?:/g)].flatMap(
        ([, comment = '', option = '']) => {
          const said = /Default ([\d,]+)\b/.exec(comment.replaceAll(/\s*\n\s*\*\s*/g, ' '))?.[1];
          return said === undefined || constants[option] === undefined ? [] : [[name, option, Number(said.replaceAll(',', ''))] as const];
        },
      ),
    );
}

/** The schema of a key. */
function keyOf(schema: unknown, ...keys: readonly string[]): unknown {
  return getIn(
    schema,
    keys.flatMap((key) => ['properties', key]),
  );
}

describe('defaults', () => {
  const found = documented('src');

  test('are named by the doc comments of the options that have them', () => {
    expect(new Set(found.map(([, option]) => option))).toEqual(
      new Set(['limit', 'concurrency', 'firstPage', 'endWaitMs', 'timeoutMs', 'maxBodyBytes', 'maxPasses', 'memory']),
    );
  });

  test.each(found)('of %s: %s is what its doc comment says', (_place, option, said) => {
    expect(said).toBe(constants[option]);
  });

  test('stand in the JSON schema, as a value and in the description', async () => {
    const service = keyOf(getIn(await pipelineSchema(), ['then']), 'defaults', 'service');
    expect(keyOf(service, 'limit')).toMatchObject({
      default: defaults.limit,
      description: `Rows per page, at most 500. Default ${defaults.limit}.`,
    });
    expect(keyOf(service, 'timeout')).toMatchObject({ default: '1m', description: expect.stringMatching(/ Default 1m\.$/) });
  });

  test('are left to whoever uses the value', () => {
    expect(usually(z.number(), 7).parse(undefined)).toBeUndefined();
  });

  test.each([1, 500, 5_000, 60_000, 90_000, 3_600_000, 21_600_000])(
    'of %d ms are written as a length of time that reads as the same',
    (ms) => {
      expect(duration().parse(writtenDuration(ms))).toBe(ms);
    },
  );
});
