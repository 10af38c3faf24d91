import type { Checked } from './check.js';

/** Reports faults, quirks and drift of tests that the service would not accept. Loads the service only if a test has any. */
export async function checkTestServices({ tests = [], problem }: Pick<Checked, 'tests' | 'problem'>): Promise<void> {
  if (tests.every(({ service }) => service === undefined)) return;
  const { termProblems } = await import('../../service/index.js');
  tests.forEach(({ service = { seed: 0 } }, index) => {
    for (const { path, message } of termProblems(service)) problem(['tests', index, 'service', ...path], message);
  });
}
