/**
 * A run that is killed while it commits: logs the commit in argument 1, carries out the first n actions (argument 3) of those in it
 * (argument 2, JSON), and ends as by `kill -9`.
 */
import { commitUnlogged, logCommit, type LoggedCommit } from '../../../src/store/index.js';

const [folder = '', text = '', count = ''] = process.argv.slice(2);
const commit = JSON.parse(text) as LoggedCommit;
await logCommit(folder, commit);
await commitUnlogged({ ...commit, actions: commit.actions.slice(0, Number(count)) });
process.kill(process.pid, 'SIGKILL');
