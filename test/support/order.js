import Sequencer from '@jest/test-sequencer';

/** The rooms that take longest, in this order. One of them at the end would run alone, while the other workers are idle. */
const first = [
  'heavy-lake-p-r',
  'heavy-lake-s-z',
  'heavy-lake-a-n',
  'heavy-lake-o',
  'source-g-r',
  'source-s-z',
  'source-a-f',
  'cli-m-z',
  'unit',
  'pipeline-a-h',
  'lake-p-r',
  'http',
];

/** Begins with the rooms that take longest. */
// oxlint-disable-next-line import/no-default-export -- jest takes what a module exports as default
export default class LongestFirst extends Sequencer {
  /** @override */
  sort(tests) {
    const place = ({ path }) => {
      const room = /\/test\/(?:heavy-)?rooms\/(.*)\.test\.ts$/.exec(path)?.[1];
      return first.includes(room) ? first.indexOf(room) : first.length;
    };
    return super.sort(tests).sort((a, b) => place(a) - place(b));
  }
}
