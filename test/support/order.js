import Sequencer from '@jest/test-sequencer';

/** The rooms that take longest, in this order. One of them at the end would run alone, while the other workers are idle. */
const first = ['lake-p-z', 'source', 'lake-a-o', 'http', 'unit', 'pipeline-a-h', 'store', 'cli-m-z'];

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
