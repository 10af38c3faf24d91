import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../support/cli.js';
import { blocksIn, guide } from '../support/doc-comments.js';
import { service, testKey } from '../support/services.js';

// The page on programs has no pipeline file and no command.
const pages = ['README.md', ...guide.filter((page) => !page.endsWith('embedding.md'))];

test.each(pages)('every pipeline in %s runs', async (page) => {
  const from = await service();
  const env = {
    ...from.env,
    LEADSTREAM_HMAC_KEY: 'a-key-of-sixteen-characters',
    ...{ EU_URL: from.url, US_URL: from.url, EU_KEY: testKey, US_KEY: testKey },
    DONE_URL: from.url,
    ALERT_URL: from.url,
    CATALOG_CREDENTIAL: 'id:secret',
    DATABASE_URL: 'postgres://localhost/crm',
  };
  await mkdir('out', { recursive: true });
  // In the repository, where a module finds leadstream by its name.
  const cwd = await mkdtemp(join('out', 'pages-'));
  try {
    const [module] = await blocksIn(page, 'js');
    if (module !== undefined) await writeFile(join(cwd, 'mine.mjs'), module);
    const texts = await blocksIn(page, 'yaml');
    for (const [index, text] of texts.entries()) {
      const file = `${index}.yaml`;
      const declared = texts.find((other) => other.startsWith('collections:'));
      await writeFile(join(cwd, file), completed(text.includes('in_euro') ? `${declared}${text}` : text));
      // Nobody serves these orders, and nobody has the database or the bucket.
      const checked = declared === undefined ? ['validate', '--strict'] : ['validate', '--strict', '--plugin', './mine.mjs'];
      const command = declared === undefined && !/s3:|catalog:|postgres:/.test(text) ? ['run'] : checked;
      const result = await cli([...command, file, '--log-level', 'error'], { cwd, env });
      expect({ text, ...result }).toMatchObject({ text, code: 0, stderr: '' });
      if (text.includes('tests:')) expect(await cli(['test', file], { cwd })).toMatchObject({ code: 0 });
    }
  } finally {
    await rm(cwd, { recursive: true });
  }
});

/** A part of a file as a whole one. */
function completed(text: string): string {
  if (text.includes('---')) return text;
  const usual = { name: 'part', service: '{ limit: 500, end_wait: 0s }', from: 'leads', to: '[{ csv: { path: part.csv } }]' };
  const missing = Object.entries(usual).filter(([key]) => !new RegExp(`^${key}s?:`, 'm').test(text));
  return `${missing.map(([key, value]) => `${key}: ${value}\n`).join('')}${text}`;
}

test.each([...pages, 'src/service/README.md', 'examples/nightly/README.md'])('the command has what %s calls', async (page) => {
  const spans = [...(await readFile(page, 'utf8')).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  const calls = [...[...(await blocksIn(page, 'sh')), ...spans].join('\n').matchAll(/leadstream ([a-z-]+)( [^\n#]*)?/g)];
  expect(calls.length).toBeGreaterThan(0);
  for (const [call, verb = '', rest = ''] of calls) {
    const { stdout } = await cli([verb, '--help'], { cwd: process.cwd() });
    const unknown = (rest.match(/(?<= )--?[a-z][a-z-]*/g) ?? []).filter((option) => !new RegExp(` ${option}\\b`).test(stdout));
    expect({ call, unknown, isVerb: stdout.startsWith(`leadstream ${verb}`) }).toEqual({ call, unknown: [], isVerb: true });
  }
});
