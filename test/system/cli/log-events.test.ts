import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logEvents, type LogEvent } from '../../../src/core/index.js';
import { cli } from '../../support/cli.js';
import { pipelineText, service, workplace } from '../../support/services.js';

interface Line {
  readonly time: string;
  readonly level: string;
  readonly event: LogEvent;
  readonly message?: string;
  readonly [field: string]: unknown;
}

const body = `from: leads
steps:
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }
to:
  - csv: { path: out/leads.csv }`;

function linesOf(stderr: string): readonly Line[] {
  return stderr
    .trim()
    .split('\n')
    .map((line): Line => JSON.parse(line));
}

const json = ['--log-format', 'json', '--log-level', 'debug'];

/** What command lines write on stderr that between them do everything there is to tell. */
async function everything(): Promise<readonly Line[]> {
  const from = await service(undefined, { faults: ['503@collection=leads,purpose=page,page=2,times=1'] });
  const cwd = await workplace(body);
  const said: Line[] = [];
  const tell = async (...words: readonly string[]) =>
    said.push(...linesOf((await cli([...words, ...json], { cwd, env: from.env })).stderr));
  await tell('run', 'p.yaml', '--set', 'service.retry.base=1ms');
  await writeFile(
    join(cwd, 'gate.yaml'),
    pipelineText(body)
      .replace('name: test', 'name: gate')
      .replace('to:', 'expect: { min_rows: 5000 }\nto:')
      .replace('leads.csv', 'gate.csv'),
  );
  await tell('run', 'gate.yaml');
  await tell('run', 'p.yaml', 'gate.yaml');
  await tell('run', 'p.yaml', '--only', 'test');
  const users = pipelineText('from: users\nto:\n  - csv: { path: out/users.csv }').replace('name: test', 'name: users');
  await writeFile(join(cwd, 'users.yaml'), users);
  await tell('run', 'p.yaml', 'users.yaml');
  await writeFile(join(cwd, 'odd.yaml'), pipelineText("from: leads\nsteps:\n  - filter: '1 == 2'\nto:\n  - csv: { path: out/odd.csv }"));
  await tell('validate', 'odd.yaml', 'p.yaml');
  await tell('run', 'odd.yaml');
  await writeFile(join(cwd, 'broken.yaml'), 'from: leeds');
  await tell('validate', 'broken.yaml');
  return said;
}

test('every line of the log is an event of the reference with its level and its fields, every event comes, and no message has several lines', async () => {
  const said = await everything();
  const strange = said.flatMap((line) => {
    const known = logEvents[line.event];
    const fields = new Set<string>(['time', 'level', 'event', 'message', 'messages', ...(known?.fields ?? [])]);
    const wrong = fields.has('…') ? [] : Object.keys(line).filter((field) => !fields.has(field));
    return known && wrong.length === 0 && (line.event === 'message' || line.level === known.level) ? [] : [{ line, wrong }];
  });
  expect(strange).toEqual([]);
  const missing = Object.keys(logEvents).filter((name) => !said.some(({ event }) => event === name));
  // What comes every half minute has a test with a clock of its own, and so has a reader who leaves.
  expect(missing).toEqual(['run.progress', 'run.closed']);
  expect(said.filter(({ message }) => message?.includes('\n'))).toEqual([]);
});
