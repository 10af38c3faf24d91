import { join } from 'node:path';
import { start, type Started } from './cli.js';
import { temporaryFolder } from './temporary.js';

/** Starts an example in a process that signals reach directly: `npx tsx` would start another one. */
export async function startExample(name: string, env: Readonly<Record<string, string>>): Promise<Started> {
  const parameters = ['--import', 'tsx', join('examples', name)];
  return start(process.execPath, parameters, { cwd: process.cwd(), env: { ...env, TMPDIR: await temporaryFolder() } });
}
