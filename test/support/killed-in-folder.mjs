// Ends the process as by `kill -9` right before action number KILL_BEFORE that changes something below the folder KILL_IN.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

let left = Number(process.env.KILL_BEFORE);

for (const name of ['open', 'writeFile', 'link', 'rename', 'unlink', 'rm', 'mkdir', 'copyFile']) {
  const original = fs.promises[name];
  fs.promises[name] = async (...parameters) => {
    if (parameters.slice(0, 2).some((path) => String(path).startsWith(process.env.KILL_IN)) && (left -= 1) === 0)
      process.kill(process.pid, 'SIGKILL');
    return original(...parameters);
  };
}
syncBuiltinESMExports();
