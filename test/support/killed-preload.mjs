// Ends the process as by `kill -9` right before the nth rename (KILL_BEFORE) after the commit is logged.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { rename } = fs.promises;
let left = Infinity;

fs.promises.rename = async (from, to) => {
  const commits = !String(to).includes('/.leadstream/');
  if (commits) left -= 1;
  if (commits && left === 0) process.kill(process.pid, 'SIGKILL');
  await rename(from, to);
  if (String(to).endsWith('.commit.json')) left = Number(process.env.KILL_BEFORE);
};
syncBuiltinESMExports();
