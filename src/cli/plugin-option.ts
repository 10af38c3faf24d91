import type { Argv } from 'yargs';

/** Declares `--plugin`, the option of all commands that read pipeline files. */
export function pluginOption<T>(yargs: Argv<T>) {
  return yargs.option('plugin', {
    type: 'string',
    array: true,
    nargs: 1,
    default: [] as string[],
    describe: 'Module with custom steps and sinks, which is executed, like ./mine.mjs',
  });
}
