import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { environment } from '../../src/core/index.js';
import { cli, start } from '../support/cli.js';
import { compose, containerFolder as folder } from '../support/compose.js';
import { testBy } from '../support/program.js';

const dockerfile = join(folder, 'Dockerfile');

interface Manifest {
  readonly version: string;
  readonly name: string;
  readonly bin: Readonly<Record<string, string>>;
}

const manifest = async () => JSON.parse(await readFile('package.json', 'utf8')) as Manifest;

/** The instructions of a Dockerfile: a line that ends in a backslash goes on. */
async function instructions(): Promise<readonly { readonly name: string; readonly value: string }[]> {
  const text = (await readFile(dockerfile, 'utf8')).replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n\s*/g, ' ');
  return text.split('\n').flatMap((line) => {
    const [, name, value] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });
}

describe('the Dockerfile', () => {
  testBy('hadolint', 'finds nothing to say', async () => {
    expect(await start('hadolint', [dockerfile], { cwd: process.cwd() }).finished).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('takes the package as npm names it, a pinned Node that the package runs on, and a user who is not root', async () => {
    const [all, { name, version, bin }] = [await instructions(), await manifest()];
    const of = (wanted: string) => all.filter((each) => each.name === wanted).map(({ value }) => value);
    const bases = of('FROM').map((value) => value.split(' ')[0]);
    expect(new Set(bases).size).toBe(1);
    const [, major = '', minor = ''] = /^node:(\d+)\.(\d+)\.\d+-\w+-slim$/.exec(bases[0] ?? '') ?? [];
    expect(Number(major) === 22 && Number(minor) >= 12).toBe(true);
    const [pattern = ''] = of('COPY')[0]?.split(' ') ?? [];
    expect(`${name}-${version}.tgz`).toMatch(new RegExp(`^${pattern.replaceAll('.', '\\.').replace('*', '.+')}$`));
    expect(of('RUN').join('\n')).toContain(pattern);
    expect(of('USER')).toEqual(['1000:1000']);
    const [entry = ''] = of('ENTRYPOINT');
    expect(Object.keys(bin)).toEqual(JSON.parse(entry));
    expect(await cli(JSON.parse(of('CMD')[0] ?? '') as string[], { cwd: process.cwd() })).toMatchObject({ code: 0 });
  });

  test('installs what npm packs where its PATH leads, by the options that it names', async () => {
    const all = await instructions();
    const install = all.find(({ name, value }) => name === 'RUN' && value.startsWith('npm install'))?.value ?? '';
    const [, prefix] = /--prefix (\S+)/.exec(install) ?? [];
    expect(prefix).toBe('/opt/leadstream');
    expect(all).toContainEqual({ name: 'COPY', value: `--from=install ${prefix} ${prefix}` });
    expect(all.find(({ name }) => name === 'ENV')?.value).toContain(`PATH=${prefix}/bin:$PATH`);
    const known = await start('npm', ['install', '--help'], { cwd: process.cwd() }).finished;
    for (const [option] of install.matchAll(/--(?!no-|prefix)[a-z-]+/g)) expect(known.stdout).toContain(option.replace('=dev', ''));
  });
});

describe('the compose file', () => {
  test('names images, files and volumes that there are', async () => {
    const [{ services, volumes }, { name, version }] = [await compose(), await manifest()];
    for (const service of Object.values(services)) expect(service.image).toBe(`${name}:${version}`);
    const { build } = services.service;
    const context = join(folder, build?.context ?? '');
    expect(relative('.', context)).toBe('');
    expect(existsSync(join(context, build?.dockerfile ?? ''))).toBe(true);
    for (const volume of services.export.volumes ?? []) {
      const [source = '', target = ''] = volume.split(':');
      expect(source.startsWith('.') ? existsSync(join(folder, source)) : Object.hasOwn(volumes, source)).toBe(true);
      expect([...services.export.command, ...Object.values(services.export.environment)].some((word) => word.startsWith(target))).toBe(
        true,
      );
    }
    expect(services.export.depends_on).toEqual({ service: { condition: 'service_healthy' } });
  });

  test('gives commands options that they have, and variables that are read', async () => {
    for (const { command, environment: variables } of Object.values((await compose()).services)) {
      const [verb = '', ...words] = command;
      const { code, stdout } = await cli([verb, '--help'], { cwd: process.cwd() });
      expect(code).toBe(0);
      for (const option of words.filter((word) => word.startsWith('--'))) expect(stdout).toMatch(new RegExp(` ${option} `));
      const lake = await readFile(join('pipelines', 'nightly-export.yaml'), 'utf8');
      for (const name of Object.keys(variables)) expect(Object.hasOwn(environment, name) || lake.includes(`\${${name}:-`)).toBe(true);
    }
  });

  test('hardens both containers, and rotates their logs', async () => {
    for (const service of Object.values((await compose()).services)) {
      expect(service).toMatchObject({
        init: true,
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
      });
    }
  });
});

test('the package has the examples, and what they name', async () => {
  const { files } = JSON.parse(await readFile('package.json', 'utf8')) as { readonly files: readonly string[] };
  expect(files).toEqual(expect.arrayContaining(['dist', 'pipelines', 'examples']));
  const links = [...(await readFile(join(folder, 'README.md'), 'utf8')).matchAll(/\]\((?!#)([^)#]+)/g)].map(([, to = '']) =>
    join(folder, to),
  );
  expect(links.length).toBeGreaterThan(3);
  for (const to of links) expect({ to, isThere: existsSync(to) }).toEqual({ to, isThere: true });
});
