import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parse } from 'yaml';
import { start, startCli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { testBy } from '../support/program.js';
import { testKey } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

const folder = join('examples', 'container');
const dockerfile = join(folder, 'Dockerfile');

interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
}

interface Compose {
  readonly services: Readonly<Record<'service' | 'export', Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Reads the compose file, with the common parts merged into each service. */
async function compose(): Promise<Compose> {
  return parse(await readFile(join(folder, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
}

testBy('hadolint', 'finds nothing to say about the Dockerfile', async () => {
  expect(await start('hadolint', [dockerfile], { cwd: process.cwd() }).finished).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('names the package of this version, and files and volumes that exist', async () => {
  const { name, version } = JSON.parse(await readFile('package.json', 'utf8')) as { readonly name: string; readonly version: string };
  const [, packed = ''] = /^COPY (\S+\.tgz) /m.exec(await readFile(dockerfile, 'utf8')) ?? [];
  expect(`${name}-${version}.tgz`).toMatch(new RegExp(`^${packed.replaceAll('.', '\\.').replace('*', '.+')}$`));
  const { services, volumes } = await compose();
  for (const { image } of Object.values(services)) expect(image).toBe(`${name}:${version}`);
  const { build } = services.service;
  const context = join(folder, build?.context ?? '');
  expect([relative('.', context), existsSync(join(context, build?.dockerfile ?? ''))]).toEqual(['', true]);
  const sources = (services.export.volumes ?? []).map((volume) => volume.split(':')[0] ?? '');
  expect(sources.filter((source) => !(source.startsWith('.') ? existsSync(join(folder, source)) : source in volumes))).toEqual([]);
});

test('serves until its health check passes, and exports from that service', async () => {
  const { services } = await compose();
  const root = await temporaryFolder();
  const place = (text: string) => text.replace(/^\/data/, root).replace(/^\/etc\/leadstream/, join(process.cwd(), 'pipelines'));
  const filled = (text: string) => text.replace(/^\$\{LEADSTREAM_REST_API_KEY:\?[^}]+\}$/, testKey);
  // Of many leads, a few are enough; the port is a free one.
  const words = services.service.command.map((word) => (word === '8080' ? '0' : word === '20000' ? '200' : word));
  const served = startCli(words, {
    cwd: root,
    env: { LEADSTREAM_REST_API_KEY: filled(services.service.environment['LEADSTREAM_REST_API_KEY'] ?? '') },
  });
  try {
    const [line] = (await once(served.process.stdout ?? served.process, 'data')) as [string];
    const { port } = new URL(line.trim());
    const [how, ...check] = services.service.healthcheck?.test ?? [];
    expect(how).toBe('CMD');
    const health = (at: string) =>
      start(
        check[0] ?? '',
        check.slice(1).map((word) => word.replace(':8080', `:${at}`)),
        { cwd: root },
      ).finished;
    expect(await health(port)).toMatchObject({ code: 0 });
    expect(await health('1')).toMatchObject({ code: 1 });
    const variables = Object.entries(services.export.environment).map(([name, value]) => [name, place(filled(value))]);
    const env = { ...Object.fromEntries(variables), LEADSTREAM_BASE_URL: `http://127.0.0.1:${port}` } as Record<string, string>;
    expect(services.export.environment['LEADSTREAM_BASE_URL']).toBe('http://service:8080');
    const done = await startCli(services.export.command.map(place), { cwd: root, env }).finished;
    expect(done).toMatchObject({ code: 0 });
    expect(await duckdb(`select count(*)::int as rows from '${root}/lake/leads/**/*.parquet'`)).toEqual([{ rows: 200 }]);
    expect(await readFile(join(root, 'leadstream.prom'), 'utf8')).toContain('leadstream_exit_code 0\n');
    expect(JSON.parse(await readFile(join(root, 'report.json'), 'utf8'))).toMatchObject({ status: 'published' });
  } finally {
    served.process.kill();
    await served.finished;
  }
});
