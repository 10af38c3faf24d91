import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { start, type Finished } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { finalCodes } from '../support/examples.js';
import { testBy } from '../support/program.js';
import { service, testKey } from '../support/services.js';
import { folderWith, temporaryFolder } from '../support/temporary.js';
import { webhook } from '../support/webhook.js';

const example = (name: string) => readFile(join('examples', 'nightly', name), 'utf8');

/** A machine as the examples' comments prepare it, in a folder that takes the place of `/`. */
interface Host {
  /** Puts the folder in front of the absolute paths of the examples. */
  place(text: string): string;
  readonly root: string;
}

async function host(key = testKey): Promise<Host> {
  const [root, { url }] = [await temporaryFolder(), await service()];
  const place = (text: string) => text.replaceAll(/(?<![\w}.$/])\/(?=(?:etc|var|usr\/local|srv|data|run)(?:\/|$))/g, `${root}/`);
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text, { mode: 0o600 });
  };
  const settings = place(await example('leadstream.env'))
    .replace('https://data.example', url)
    .replace("KEY=''", `KEY='${key}'`);
  await write('etc/leadstream/leadstream.env', settings);
  await write('run/secrets/leadstream/leadstream.env', settings);
  // Its smallest table, which is enough to see the export run; test/release/pipelines.test.ts runs it whole.
  const documents = (await readFile(join('pipelines', 'nightly-export.yaml'), 'utf8')).split('---\n');
  const wanted = documents.filter((text) => /^(?:name: nightly-bridges|defaults:)$/m.test(text));
  await write('etc/leadstream/nightly-export.yaml', wanted.join('---\n'));
  const main = join(process.cwd(), 'dist', 'cli', 'main.cjs');
  await write('usr/local/bin/leadstream', `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  await chmod(join(root, 'usr/local/bin/leadstream'), 0o755);
  await write('run/secrets/leadstream-alert/alert-url', `${url}/nobody-is-told`);
  await write('etc/leadstream/alert-url', `${url}/nobody-is-told`);
  for (const folder of ['var/lib/leadstream', 'srv/lake', 'data']) await mkdir(join(root, folder), { recursive: true });
  return { root, place };
}

/** The run ended well, its report says so, and DuckDB finds the rows where readers look. */
async function expectPublished(finished: Finished, { lake, report }: { lake: string; report: string }): Promise<void> {
  expect({ ...finished }).toMatchObject({ code: 0 });
  expect(JSON.parse(await readFile(report, 'utf8'))).toMatchObject({ status: 'published' });
  expect(await duckdb(`select count(*)::int as rows from '${lake}/bridges/*.parquet'`)).toEqual([{ rows: 20 }]);
}

/** Expects one of cron's times: five fields, each a number within its range or a star. */
function expectNightly(schedule: string): void {
  const fields = schedule.split(' ').map((field) => (field === '*' ? undefined : Number(field)));
  expect(fields).toEqual([expect.any(Number), expect.any(Number), undefined, undefined, undefined]);
  const [minute = NaN, hour = NaN] = fields;
  expect(minute >= 0 && minute < 60 && hour >= 0 && hour < 24).toBe(true);
}

describe('systemd', () => {
  const units = ['leadstream.service', 'leadstream.timer', 'leadstream-alert@.service'];

  /** The settings of a unit; a line that ends in a backslash goes on. */
  async function unit(name: string, { place }: Host): Promise<ReadonlyMap<string, string>> {
    const lines = place(await example(name))
      .replaceAll(/^#.*\n/gm, '')
      .replaceAll(/\\\n\s*/g, '')
      .split('\n');
    return new Map(
      lines.flatMap((line): [string, string][] => (/^\w+=/.test(line) ? [[line.replace(/=.*/, ''), line.replace(/^\w+=/, '')]] : [])),
    );
  }

  async function placed(at: Host): Promise<string> {
    const folder = await temporaryFolder();
    for (const name of units) await writeFile(join(folder, name), at.place(await example(name)));
    return folder;
  }

  test('ExecStart= publishes, with the key in a credential', async () => {
    const at = await host();
    const settings = await unit('leadstream.service', at);
    const [credential = '', source = ''] = settings.get('LoadCredential')?.split(':') ?? [];
    const credentials = await temporaryFolder();
    await copyFile(source, join(credentials, credential));
    const words = settings.get('ExecStart')?.replaceAll('${CREDENTIALS_DIRECTORY}', credentials).split(/\s+/) ?? [];
    const finished = await start(words[0] ?? '', words.slice(1), { cwd: '/' }).finished;
    await expectPublished(finished, { lake: join(at.root, 'srv/lake'), report: join(at.root, 'var/lib/leadstream/report.json') });
    const events = finished.stderr.trim().split('\n');
    expect(events.map((line) => Object.keys(JSON.parse(line)))).toContainEqual(expect.arrayContaining(['report']));
    expect(settings.get('StateDirectory')).toBe('leadstream');
    expect(settings.get('ReadWritePaths')).toBe(join(at.root, 'srv/lake'));
  });

  test('the service starts again after what passes, and not after what needs a person', async () => {
    const settings = await unit('leadstream.service', await host());
    expect(settings.get('RestartPreventExitStatus')?.split(' ').map(Number)).toEqual(finalCodes);
    expect(settings.get('Restart')).toBe('on-failure');
    // Else the limit would never be met, and OnFailure= never come.
    const [starts, run, wait] = ['StartLimitBurst', 'TimeoutStartSec', 'RestartSec'].map((name) => parseFloat(settings.get(name) ?? ''));
    const interval = parseFloat(settings.get('StartLimitIntervalSec') ?? '');
    expect(interval).toBeGreaterThan(Number(starts) * (Number(run) + Number(wait) / 60));
    expect(interval).toBeLessThan(24);
  });

  testBy('systemd-analyze', 'verify finds nothing to say', async () => {
    const folder = await placed(await host());
    const verified = await start('systemd-analyze', ['verify', ...units.map((name) => join(folder, name))], { cwd: folder }).finished;
    expect(verified).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});

test('the alert of systemd tells the webhook which unit failed, and shows its address to no list of processes', async () => {
  const { url, told } = await webhook();
  const credentials = await folderWith({ 'alert-url': `${url}\n` });
  const line = /^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(await example('leadstream-alert@.service'))?.[1] ?? '';
  // What systemd makes of it: its specifiers, and escapes within quotes.
  const specifiers: Readonly<Record<string, string>> = { '%%': '%', '%i': 'leadstream', '%H': 'machine' };
  const script = line.replaceAll(/%[%iH]/g, (mark) => specifiers[mark] ?? mark).replaceAll('\\\\', '\\');
  const finished = await start('/bin/sh', ['-c', script], { cwd: '/', env: { CREDENTIALS_DIRECTORY: credentials } }).finished;
  expect(finished).toMatchObject({ code: 0, stderr: '' });
  expect(told.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { text: 'leadstream failed on machine: journalctl -u leadstream.service' },
  ]);
  expect(script).toMatch(/printf .*\| curl --config - /);
});

describe('cron', () => {
  interface Job {
    readonly schedule: string;
    /** Runs it as cron does: `sh -c`, with the variables of the crontab and little else. */
    run(): Promise<Finished>;
  }

  async function job({ place, root }: Host): Promise<Job> {
    const lines = place(await example('crontab'))
      .split('\n')
      .filter((line) => !/^(?:#|$)/.test(line));
    const variables = lines.filter((line) => /^\w+=/.test(line));
    const [line = '', ...others] = lines.filter((line) => !variables.includes(line));
    expect(others).toEqual([]);
    const [, schedule = '', command = ''] = /^((?:\S+ ){5})(.+)$/.exec(line) ?? [];
    // Cron ends a command at a percent sign.
    expect(command).not.toContain('%');
    const env = Object.fromEntries(variables.map((line) => [line.replace(/=.*/, ''), line.replace(/^\w+=/, '')]));
    return { schedule: schedule.trim(), run: () => start('/bin/sh', ['-c', command], { cwd: root, env: { HOME: root, ...env } }).finished };
  }

  test('the line publishes and prints nothing, so that no mail goes out', async () => {
    const at = await host();
    const { schedule, run } = await job(at);
    expectNightly(schedule);
    const finished = await run();
    await expectPublished(finished, { lake: join(at.root, 'srv/lake'), report: join(at.root, 'var/lib/leadstream/report.json') });
    expect(finished).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await readFile(join(at.root, 'var/lib/leadstream/log.ndjson'), 'utf8')).toContain('"level":"info"');
  });

  test('a failed run mails one line that has the code, the exit status and the next step, and no key', async () => {
    const { run } = await job(await host('wrong-key'));
    const { code, stdout, stderr } = await run();
    expect({ code, stderr }).toEqual({ code: 77, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ code: 'E_SOURCE_AUTH', exit: 77, help: expect.any(String) });
    expect(stdout).not.toContain('wrong-key');
  });
});

describe('Kubernetes', () => {
  /** Kubernetes reads YAML 1.1, in which 0440 is octal. */
  async function parts() {
    const [claim, cronJob] = parseAllDocuments(await example('cronjob.yaml'), { version: '1.1' }).map((document) => document.toJS());
    const job = cronJob.spec.jobTemplate.spec;
    return { claim, cronJob, job, pod: job.template.spec, container: job.template.spec.containers[0] };
  }

  test('the container publishes, and writes to the claimed volume alone', async () => {
    const [at, { claim, cronJob, pod, container }] = [await host(), await parts()];
    expect(cronJob).toMatchObject({ apiVersion: 'batch/v1', kind: 'CronJob', spec: { concurrencyPolicy: 'Forbid' } });
    expectNightly(cronJob.spec.schedule);
    const variables = container.env.map(({ name, value }: { name: string; value: string }) => [name, at.place(value)]);
    const words: string[] = [...container.command, ...container.args].map(at.place);
    const env = { PATH: join(at.root, 'usr/local/bin'), ...Object.fromEntries(variables) };
    const finished = await start(words[0] ?? '', words.slice(1), { cwd: '/', env }).finished;
    await expectPublished(finished, { lake: join(at.root, 'data/lake'), report: join(at.root, 'data/report.json') });
    const volume = pod.volumes.find(({ persistentVolumeClaim }: { persistentVolumeClaim?: object }) => persistentVolumeClaim);
    expect(volume.persistentVolumeClaim.claimName).toBe(claim.metadata.name);
    expect(container.volumeMounts).toContainEqual({ name: volume.name, mountPath: '/data' });
    expect(words[words.indexOf('--state-dir') + 1]).toBe(join(at.root, 'data/state'));
  });

  test('the job tries again after what passes, and not after what needs a person', async () => {
    const { job, pod, container } = await parts();
    expect(job.podFailurePolicy.rules[0]).toEqual({
      action: 'FailJob',
      onExitCodes: { containerName: container.name, operator: 'In', values: finalCodes },
    });
    expect({ retries: job.backoffLimit, restart: pod.restartPolicy }).toEqual({ retries: 5, restart: 'Never' });
  });
});

test('GitHub Actions: the workflow publishes, and keeps the report whatever happens', async () => {
  const [at, repository] = [await host(), await temporaryFolder()];
  const workflow = parse(await example('github-actions.yml'));
  expectNightly(workflow.on.schedule[0].cron);
  expect(workflow).toMatchObject({ permissions: { contents: 'read' }, concurrency: { 'cancel-in-progress': false } });
  const { steps } = workflow.jobs.export;
  const step = steps.find(({ name }: { name?: string }) => name === 'Export');
  // Whoever cancels the job reaches the run, and nothing in between.
  expect(step.run).toMatch(/^exec node_modules\/\.bin\/leadstream run /m);
  expect(step.run).not.toMatch(/^\s*npx /m);
  const uploads = steps.filter(({ uses = '' }) => uses.startsWith('actions/upload-artifact@'));
  expect(uploads.map((upload: { if?: string; with: object }) => [upload.if, upload.with])).toMatchObject([
    ['always()', { path: 'report.json' }],
    [undefined, { path: 'lake' }],
  ]);
  await mkdir(join(repository, 'pipelines'));
  await mkdir(join(repository, 'node_modules', '.bin'), { recursive: true });
  await writeFile(join(repository, 'package.json'), '{}');
  await copyFile(join(at.root, 'etc/leadstream/nightly-export.yaml'), join(repository, 'pipelines', 'nightly-export.yaml'));
  await copyFile(join(at.root, 'usr/local/bin/leadstream'), join(repository, 'node_modules', '.bin', 'leadstream'));
  const settings = await readFile(join(at.root, 'etc/leadstream/leadstream.env'), 'utf8');
  const setting = (_: string, name: string) => new RegExp(`^${name}='(.*)'$`, 'm').exec(settings)?.[1] ?? '';
  const env = Object.fromEntries(
    Object.entries<string>(step.env).map(([name, value]) => [name, value.replace(/\$\{\{ (?:vars|secrets)\.(\w+) \}\}/, setting)]),
  );
  const surroundings = { cwd: repository, env: { HOME: at.root, RUNNER_TEMP: await temporaryFolder(), ...env } };
  const finished = await start('bash', ['-e', '-c', step.run], surroundings).finished;
  await expectPublished(finished, { lake: join(repository, 'lake'), report: join(repository, 'report.json') });
});
