import { describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { checkDocuments } from '../../../src/plan/check.js';
import { sinkDefinitions } from '../../../src/plan/json-schema.js';
import { loadSteps } from '../../../src/steps/index.js';

const sample = { name: 'p', from: 'leads', to: [{ ndjson: { path: 'out/other.ndjson' } }] };

describe('a value whose variable is not set', () => {
  test('is not wrong in any example of a step or sink, nor in what follows it', async () => {
    const entries = [
      ...Object.values(await loadSteps()).flatMap(({ name, examples }) =>
        examples.map((each) => ({ steps: [{ [name]: each }, { filter: "email != ''" }] })),
      ),
      ...sinkDefinitions.flatMap(({ name, examples }) => examples.map((each) => ({ to: [{ [name]: each }] }))),
    ];
    const wrong: string[] = [];
    for (const entry of entries) {
      const file = { ...sample, ...entry };
      if ((await problemsOf(file)).length > 0) continue;
      for (const changed of withUnset(entry))
        wrong.push(...(await problemsOf({ ...sample, ...Object(changed) })).map((each) => `${JSON.stringify(changed)}: ${each}`));
    }
    expect(wrong).toEqual([]);
  });

  test('leaves what does not depend on it checked', async () => {
    const file = {
      ...sample,
      service: { base_url: '${URL}', limit: '${LIMIT}', window: '0' },
      steps: [{ filter: "email == '${WHOSE}'" }, { select: ['email', 'emial'] }],
      to: [
        { csv: { path: '${OUT}/p.csv', columns: ['emial'] } },
        { parquet: { path: '${OUT}/p', keep: '${KEPT}', copies: 'true' } },
        { parquet: { path: '${OUT}/p' } },
      ],
      rejects: { max: 'many' },
    };
    expect((await problemsOf(file)).map((message) => message.slice(0, 22))).toEqual([
      "unknown column 'emial'",
      "unknown key 'copies'; ",
      'window: Too small: exp',
      "unknown field 'emial',",
      'max: must be written l',
    ]);
  });

  test('is refused where it has to be set, with all else that is wrong', async () => {
    const file = { ...sample, service: { limit: '${UNSET}' }, schema: 'frozen' };
    const env = { LEADSTREAM_BASE_URL: 'http://h.example', LEADSTREAM_REST_API_KEY: 'k'.repeat(9) };
    const { issues, pipelines } = await checkDocuments(stringify(file), 'p.yaml', { env, cwd: '/srv' });
    expect(issues.map(({ message }) => message)).toEqual([
      'the environment variable UNSET is not set',
      expect.stringContaining('schema: Invalid option'),
    ]);
    expect(pipelines[0]?.pipeline).toBeUndefined();
  });
});

/** Returns the problems of a file that is checked without an environment. */
async function problemsOf(file: unknown): Promise<readonly string[]> {
  const { issues } = await checkDocuments(stringify(file), 'p.yaml', { env: {}, cwd: '/srv' }, { lenient: true });
  return issues.map(({ message }) => message);
}

/** Returns copies of a value, each with a reference in place of one of its scalars. */
function withUnset(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return ['${UNSET}', `\${UNSET}${String(value)}`];
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
    withUnset(inner).map((changed) => (Array.isArray(value) ? value.with(Number(key), changed) : { ...value, [key]: changed })),
  );
}
