import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startCli } from '../support/cli.js';
import { pipelineText, service, type LoggedService } from '../support/services.js';
import { folderWith } from '../support/temporary.js';

const leadstream = pathToFileURL(join(process.cwd(), 'dist', 'leadstream.js')).href;

/** A store of rows by their key, with a journal of what it was told. The process dies where KILL_AT says, as by `kill -9`. */
const plugin = `import { defineSink } from '${leadstream}';
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
export const store = defineSink('store', {
  open: (_, { baseDir }) => {
    const [journal, file] = [baseDir + '/journal', baseDir + '/store.json'];
    let pages = 0;
    const note = (what) => {
      appendFileSync(journal, what + '\\n');
      if (process.env.KILL_AT === what) process.kill(process.pid, 'SIGKILL');
    };
    const all = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    note('open');
    return {
      write: (rows) => {
        for (const row of rows) all[row.lead_id] = row.lead_status;
        note('write ' + (pages += 1));
      },
      commit: ({ rows }) => {
        note('commit ' + rows);
        writeFileSync(file + '.new', JSON.stringify(all));
        renameSync(file + '.new', file);
        note('committed');
      },
      abort: () => note('abort'),
    };
  },
});
`;

const pipeline = pipelineText('from: leads\nsteps: [select: [lead_id, lead_status]]\nto:\n  - store: {}\n  - csv: { path: leads.csv }');

const place = () => folderWith({ 'p.yaml': pipeline, 'mine.mjs': plugin });

async function run(from: LoggedService, cwd: string, killAt = ''): Promise<'killed' | number | null> {
  const env = { ...from.env, KILL_AT: killAt };
  const { process: child, finished } = startCli(['run', 'p.yaml', '--plugin', 'mine.mjs'], { cwd, env });
  const { code } = await finished;
  return child.signalCode === 'SIGKILL' ? 'killed' : code;
}

const text = (cwd: string, name: string) => readFile(join(cwd, name), 'utf8');
const journal = async (cwd: string) => (await text(cwd, 'journal')).trim().split('\n');

test.each([
  ['when it was opened', 'open', false],
  ['while it takes rows', 'write 3', false],
  ['behind its last row, before its commit', 'write 12', false],
  ['in its commit, which has not happened yet', 'commit 1200', false],
  ['between its commit and that of the files', 'committed', true],
])(
  'a run with a sink of a module that is killed %s is made good by the next, which gives it all rows again',
  async (_when, killAt, isStored) => {
    const [from, undisturbed, cwd] = [await service(), await place(), await place()];
    expect(await run(from, undisturbed)).toBe(0);

    expect(await run(from, cwd, killAt)).toBe('killed');
    // Files come behind the sinks of modules: there is none, whatever the sink has.
    expect([existsSync(join(cwd, 'store.json')), existsSync(join(cwd, 'leads.csv'))]).toEqual([isStored, false]);
    const before = await journal(cwd);
    expect(before.at(-1)).toBe(killAt);

    expect(await run(from, cwd)).toBe(0);
    for (const name of ['store.json', 'leads.csv']) expect(await text(cwd, name)).toBe(await text(undisturbed, name));
    // All rows, from the first one.
    const again = (await journal(cwd)).slice(before.length);
    expect(again).toEqual(await journal(undisturbed));
    expect(again).toContain('commit 1200');
  },
);
