import Sequencer from '@jest/test-sequencer';

/**
 * Runs the suites of `unit` last. Where nobody knows yet how long a suite takes, as in a new clone, the largest file comes first: a
 * small one that takes half a minute would end alone, with a worker, while the others have nothing to do. Those of `unit` are short.
 */
// oxlint-disable-next-line import/no-default-export -- jest takes what a module exports as default
export default class UnitLast extends Sequencer {
  /** @override */
  sort(tests) {
    const sorted = super.sort(tests);
    const isUnit = ({ context }) => context.config.displayName?.name === 'unit';
    return [...sorted.filter((test) => !isUnit(test)), ...sorted.filter(isUnit)];
  }
}
