import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** One process for each script, because it takes seconds to load such modules. */
const running = new Map<string, Running>();

/** Readers of tables that are Python modules, which a script in `test/readers` uses. */
export function pythonReaders(script: string, modules: string) {
  const found = `import importlib.util as u; exit(None in map(u.find_spec, '${modules}'.split(', ')))`;
  const haveAll = spawnSync('python3', ['-c', found]).status === 0;
  afterAll(() => {
    running.get(script)?.end();
    running.delete(script);
  });
  return {
    /** Declares a test with these readers. Without them, the report shows a skipped test that names them. */
    testByReaders: (title: string, body: () => Promise<void>, timeout?: number) =>
      haveAll ? test(title, body, timeout) : test.skip(`${title}: python3 has not all of ${modules} here`, body),

    /** Returns what the script prints for these arguments. */
    python: (...args: readonly string[]): Promise<string> => {
      const process = running.get(script) ?? new Running(script);
      running.set(script, process);
      return process.printed(args);
    },
  };
}

class Running {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers: NodeJS.AsyncIterator<string>;

  constructor(script: string) {
    this.#child = spawn('python3', [script], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, TZ: 'UTC' } });
    this.#answers = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  async printed(args: readonly string[]): Promise<string> {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('AWS_')));
    this.#child.stdin.write(`${JSON.stringify({ args, env })}\n`);
    const { value = '{"failure":"the process ended"}' } = await this.#answers.next();
    const { printed, failure } = JSON.parse(value) as { printed?: string; failure?: string };
    if (printed === undefined) throw new Error(failure);
    return printed;
  }

  end(): void {
    this.#child.stdin.end();
  }
}
