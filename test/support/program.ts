import { spawnSync } from 'node:child_process';

/** Declares a test that needs a program which may not be installed. Without it, the report shows a skipped test that names it. */
export function testBy(tool: string, title: string, body: () => Promise<void>): void {
  const { error } = spawnSync(tool, ['--help']);
  if (error === undefined) test(`${tool} ${title}`, body);
  else test.skip(`${tool} ${title}: it is not installed here`, body);
}
