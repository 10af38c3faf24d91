// Ends the process as by `kill -9` right before the nth rename (KILL_BEFORE) after the intent to publish is there.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { rename } = fs.promises;
let left = Infinity;

fs.promises.rename = async (from, to) => {
  const publishes = !String(to).includes('/.leadstream/');
  if (publishes) left -= 1;
  if (publishes && left === 0) process.kill(process.pid, 'SIGKILL');
  await rename(from, to);
  if (String(to).endsWith('.intent.json')) left = Number(process.env.KILL_BEFORE);
};
syncBuiltinESMExports();
