import { parseArgs } from 'node:util';

/** What a run of the benchmark measures. */
export interface BenchOptions {
  /** Few rows, one repetition: whether everything works, in two minutes. */
  readonly quick: boolean;
  /** Only the runs over growing inputs and with latency. */
  readonly growth: boolean;
  /** Only how long the command and the library take to start. */
  readonly starts: boolean;
  /** Only cases whose name matches, and the floor. */
  readonly only: RegExp | undefined;
  /** Rows of the main tables in place of 100,000; the tables of other sizes are left out. */
  readonly rows: number | undefined;
  /** Bridges that they are joined with in place of 200. */
  readonly bridges: number | undefined;
  /** Repetitions of every case in place of the plan's. */
  readonly repeat: number | undefined;
  /** Leaves a CPU profile of every run in `out/profiles`. */
  readonly profile: boolean;
  /** Folder for RESULTS.md and RESULTS.json. `undefined`: prints, and writes nothing. */
  readonly out: string | undefined;
}

/**
 * Reads the command line. Only a run of everything replaces `test/bench/RESULTS.md`; a part of it is printed, unless `--out` names
 * a folder.
 *
 * @throws {TypeError} For an option that there is not, or a number that is none.
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
