import { loadPipeline, loadPipelines } from '../../../src/index.js';
import { createRedactor } from '../../../src/core/index.js';
import { testPipelines } from '../../../src/pipeline-tests/index.js';
import { pipelineText, workplace } from '../../support/services.js';

const env = {
  ...{ LEADSTREAM_BASE_URL: 'http://localhost:1', LEADSTREAM_REST_API_KEY: 'key-of-a-test' },
  DATABASE_URL: 'postgres://owner:s3cret%2Fword@db.example.org/crm?sslmode=verify-full',
};

const sink = (options = '') => `  - postgres: { url: '\${DATABASE_URL}', table: leads${options} }`;
const load = (text: string) => loadPipeline({ text: pipelineText(text), file: 'p.yaml' }, { env });

describe('a pipeline file with a table of PostgreSQL', () => {
  test('knows it by its database, without secrets, and hides the URL and the password as it is meant', async () => {
    const { plan, secrets } = await load(`from: leads\nto:\n${sink()}`);
    expect(plan.sinks[0]?.place).toBe('public.leads at db.example.org:5432/crm');
    const shown = createRedactor(secrets)(`s3cret/word s3cret%2Fword ${env.DATABASE_URL}`);
    expect(shown).toBe('[redacted] [redacted] [redacted]');
  });

  test.each([
    ['a URL that is no reference', `to:\n  - postgres: { url: '${env.DATABASE_URL}', table: leads }`, 'a credential must be a reference'],
    ['the URL in another place', `to:\n${sink()}\n  - csv: { path: '\${DATABASE_URL}' }`, 'holds a credential'],
    [
      'two outputs on one table, which has two names',
      `to:\n${sink()}\n  - postgres: { url: '\${DATABASE_URL}', table: public.leads, mode: append }`,
      'public.leads at db.example.org:5432/crm is the output of to[0]',
    ],
    ['merge without the key', `steps: [{ select: [zipcode] }]\nto:\n${sink(', mode: merge')}`, 'merge needs the key'],
    ['columns to ignore without merge', `to:\n${sink(', ignore: [age]')}`, 'ignore needs mode: merge'],
  ])('is refused for %s', async (_title, to, message) => {
    const refusal = await load(`from: leads\n${to}`).catch((failure: unknown) => failure);
    expect(refusal).toMatchObject({ name: 'SpecError', exit: 78, message: expect.stringContaining(message) });
    expect(String(refusal)).not.toContain('s3cret');
  });

  test('is refused for a table that another pipeline of the file writes', async () => {
    const one = pipelineText(`from: leads\nto:\n${sink()}`);
    const text = `${one}\n---\n${one.replace('name: test', 'name: other')}`;
    await expect(loadPipelines({ text, file: 'p.yaml' }, { env })).rejects.toThrow("is an output of the pipeline 'test'");
  });

  test('is tested without its database', async () => {
    const cwd = await workplace(`from: leads
to:
${sink(', create: true')}
tests:
  - { name: counts, given: { leads: [{ lead_id: '1' }] }, expect: { books: { written: 1 } } }`);
    expect(await testPipelines('p.yaml', { cwd })).toMatchObject({ ok: true, tests: [{ name: 'counts' }] });
  });
});
