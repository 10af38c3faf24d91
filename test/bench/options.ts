import { parseArgs } from 'node:util';

/** What a run of the benchmark measures. */
export interface BenchOptions {
  /** Few rows, one repetition: checks in two minutes that everything works. */
  readonly quick: boolean;
  /** Only the runs with growing inputs and with latency. */
  readonly growth: boolean;
  /** Only the start-up time of the command and the library. */
  readonly starts: boolean;
  /** Only cases whose name matches, and the floor. */
  readonly only: RegExp | undefined;
  /** Number of rows in the main tables instead of 100,000; the tables of other sizes are left out. */
  readonly rows: number | undefined;
  /** Number of bridges to join with instead of 200. */
  readonly bridges: number | undefined;
  /** Repetitions of every case instead of the plan's. */
  readonly repeat: number | undefined;
  /** Leaves a CPU profile of every run in `out/profiles`. */
  readonly profile: boolean;
  /** Folder for RESULTS.md and RESULTS.json. `undefined`: print the results, and write nothing. */
  readonly out: string | undefined;
}

/**
 * Parses the command line. Only a complete run replaces `test/bench/RESULTS.md`; a partial one is printed, unless `--out` names a folder.
 *
 * @throws {TypeError} For an unknown option or an invalid number.
 */
export function readOptions(argv: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: 'boolean', default: false },
      growth: { type: 'boolean', default: false },
      starts: { type: 'boolean', default: false },
      only: { type: 'string' },
      rows: { type: 'string' },
      bridges: { type: 'string' },
      repeat: { type: 'string' },
      profile: { type: 'boolean', default: false },
      out: { type: 'string' },
    },
  });
  const { quick, growth, starts, only, profile } = values;
  const [rows, bridges, repeat] = [
    wholeNumber('rows', values.rows),
    wholeNumber('bridges', values.bridges),
    wholeNumber('repeat', values.repeat),
  ];
  if (bridges !== undefined && rows === undefined) throw new TypeError('--bridges goes with --rows');
  const partial = quick || growth || starts || profile || only !== undefined || rows !== undefined || repeat !== undefined;
  return {
    quick,
    growth,
    starts,
    only: only === undefined ? undefined : new RegExp(only),
    rows,
    bridges,
    repeat,
    profile,
    out: values.out ?? (partial ? undefined : 'test/bench'),
  };
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d*$/.test(text)) throw new TypeError(`--${name} needs a whole number from 1 on`);
  return Number(text);
}
