import { Ajv } from 'ajv';
import { parseAllDocuments } from 'yaml';
import { SpecError } from '../../../src/core/errors.js';
import { loadPipeline, loadPipelines, pipelineSchema } from '../../../src/plan/index.js';
import {} from '../../support/temporary.js';

const env = { LEADSTREAM_BASE_URL: 'https://data.example', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
const users = (name: string, more = '') => `name: ${name}\nfrom: users\nto:\n  - csv: { path: ${name}.csv }\n${more}`;
const given = 'service:\n  base_url: https://a.example\n  auth:\n    rest_api_key: ${LEADSTREAM_REST_API_KEY}\n  limit: 100\n';
const defaults = (text: string) => `defaults:\n${text.replaceAll(/^(?=.)/gm, '  ')}`;
const file = (...documents: readonly string[]) => documents.join('---\n');
const parse = (text: string, set: Record<string, string> = {}) => loadPipelines({ text, file: 'p.yaml' }, { env, set, baseDir: '/base' });

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
  test.each([
    ['behind the last separator', `${users('a')}---\n`],
    ['of comments alone', `# first\n---\n${users('a')}---\n# nothing more\n`],
    ['between two pipelines', `${users('a')}---\n---\n`],
  ])('has no pipeline in an empty document %s', async (_what, text) => {
    expect((await parse(text)).map(({ name }) => name)).toEqual(['a']);
    expect((await loadPipeline({ text, file: 'p.yaml' }, { env })).name).toBe('a');
  });

  test('takes --set in every document', async () => {
    const pipelines = await parse(file(users('a'), users('b')), { from: 'bridges' });
    expect(pipelines.map(({ plan }) => plan.collection.name)).toEqual(['bridges', 'bridges']);
    expect(await problems(file(users('a'), users('b')), { name: 'c' })).toHaveLength(1);
  });

  test('is refused where one pipeline is wanted', async () => {
    await expect(loadPipeline({ text: file(users('a'), users('b')), file: 'p.yaml' }, { env })).rejects.toThrow(
      'p.yaml:1:1 the file contains 2 pipelines; load them with loadPipelines',
    );
  });
});

describe('a document of defaults', () => {
  test('gives every pipeline its blocks, and is none itself', async () => {
    const text = file(defaults(`${given}rejects: { max: 7 }\nspool: off\nexpect: { min_rows: 3 }\n`), users('a'), users('b'));
    for (const pipeline of await parse(text)) {
      expect(pipeline).toMatchObject({
        connection: { baseUrl: 'https://a.example', limit: 100 },
        rejects: { max: { rows: 7 } },
        spoolMaxAgeMs: undefined,
        expect: { min_rows: 3 },
      });
    }
    expect((await parse(text)).map(({ name }) => name)).toEqual(['a', 'b']);
    expect((await loadPipeline({ text: file(defaults(given), users('a')), file: 'p.yaml' }, { env })).connection.limit).toBe(100);
  });

  test('gives way to what a pipeline has itself, key by key, but for lists and accounts', async () => {
    const own = `service: { limit: 30, retry: { attempts: 5 },
  auth: { authorized_uid: '\${USER_ID}', authorized_rest_api_key: '\${OTHER_KEY}' } }
expect: { not_null: [email], max_null: { uid: 1% } }\nspool: { max_age: 1h }\n`;
    const shared = `${given}  concurrency: 2\n  retry: { attempts: 3, base: 2s }
expect: { not_null: [uid, email], max_null: { email: 5%, uid: 5% } }\nspool: off\n`;
    const text = file(defaults(shared), users('a', own));
    const [pipeline] = await loadPipelines({ text, file: 'p.yaml' }, { env: { ...env, USER_ID: '7', OTHER_KEY: 'another-key' } });
    expect(pipeline).toMatchObject({
      connection: { baseUrl: 'https://a.example', limit: 30, concurrency: 2, retry: { attempts: 5, baseMs: 2000 } },
      expect: { not_null: ['email'], max_null: { email: { share: 0.05 }, uid: { share: 0.01 } } },
      spoolMaxAgeMs: 3_600_000,
    });
    expect(pipeline?.connection.auth).toEqual({ authorized_uid: '7', authorized_rest_api_key: 'another-key' });
  });

  test.each(['null', ''])('does not give what a pipeline sets to null: %j', async (nothing) => {
    const text = file(defaults(`${given}expect: { min_rows: 3, max_shrink: 20% }\n`), users('a', `expect: { max_shrink: ${nothing} }\n`));
    const [pipeline] = await parse(text);
    expect(pipeline?.expect).toEqual({ min_rows: 3 });
  });
});

test('defaults that are wrong keep no credential in the file, and give none away', async () => {
  const told = await problems(
    file(
      defaults('service:\n  base_url: https://a.example\n  auth: { rest_api_key: key-of-the-test }\n'),
      users('a', 'reveal: [key-of-the-test]\n'),
    ),
  );
  expect(told[0]).toMatch(/^p\.yaml:4:27 a credential must be a reference/);
  expect(told.join('\n')).not.toContain('key-of-the-test');
});

test('an editor accepts defaults and pipelines, and nothing between', async () => {
  const validate = new Ajv({ strict: false }).compile(await pipelineSchema());
  const [common, pipeline] = parseAllDocuments(file(defaults(`${given}spool: off\n`), users('a'))).map(
    (document) => document.toJS() as object,
  );
  expect([validate(common), validate(pipeline)]).toEqual([true, true]);
  expect(validate({ ...common, ...pipeline })).toBe(false);
  expect(validate({ defaults: { steps: [] } })).toBe(false);
  expect(validate({ name: 'a' })).toBe(false);
});
