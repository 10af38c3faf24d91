import { spawnSync } from 'node:child_process';
import { test } from '@jest/globals';

/** Readers of tables that are Python modules. */
export function pythonReaders(script: string, modules: string) {
  const haveAll = spawnSync('python3', ['-c', `import ${modules}`]).status === 0;
  return {
    /** Declares a test with these readers. Without them, the report shows a skipped test that names them. */
    testByReaders: (title: string, body: () => Promise<void>, timeout?: number) =>
      haveAll ? test(title, body, timeout) : test.skip(`${title}: python3 has not all of ${modules} here`, body),

    /** Returns what the script prints. */
    python: (...args: readonly string[]): string => {
      const { status, stdout, stderr } = spawnSync('python3', [script, ...args], { encoding: 'utf8', env: { ...process.env, TZ: 'UTC' } });
      if (status !== 0) throw new Error(stderr);
      return stdout;
    },
  };
}
