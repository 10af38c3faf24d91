import Sequencer from '@jest/test-sequencer';

/**
 * Runs rooms in the order of their names: the long ones of the command and of pipelines first, and `unit`, which is short, last. A long one at the
 * end would run alone, while the other workers are idle.
 */
// oxlint-disable-next-line import/no-default-export -- jest takes what a module exports as default
export default class ByRoom extends Sequencer {
  /** @override */
  sort(tests) {
    const room = ({ path }) => /\/test\/rooms\/.*$/.exec(path)?.[0] ?? '';
    return super.sort(tests).sort((a, b) => (room(a) < room(b) ? -1 : Number(room(a) > room(b))));
  }
}
