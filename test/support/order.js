import Sequencer from '@jest/test-sequencer';

/** The rooms that take longest, in this order. One of them at the end would run alone, while the other workers are idle. */
const first = ['lake-a-d', 'lake-e-o', 'lake-p-z', 'store', 'source', 'cli-m-z', 'pipeline-a-h', 'http', 'unit'];

/** Begins with the rooms that take longest. */
// oxlint-disable-next-line import/no-default-export -- jest takes what a module exports as default
export default class LongestFirst extends Sequencer {
  /** @override */
  sort(tests) {
    const place = ({ path }) => {
      const room = /\/test\/rooms\/(.*)\.test\.ts$/.exec(path)?.[1];
      return first.includes(room) ? first.indexOf(room) : first.length;
    };
    return super.sort(tests).sort((a, b) => place(a) - place(b));
  }
}
