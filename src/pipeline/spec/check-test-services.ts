import type { Checked } from './check.js';

/** Reports faults, quirks and drift of tests that the service would not take. It is loaded for files whose tests have some. */
export async function checkTestServices({ tests = [], problem }: Pick<Checked, 'tests' | 'problem'>): Promise<void> {
  if (tests.every(({ service }) => service === undefined)) return;
  const { termProblems } = await import('../../service/index.js');
  tests.forEach(({ service = { seed: 0 } }, index) => {
    for (const { path, message } of termProblems(service)) problem(['tests', index, 'service', ...path], message);
  });
}
