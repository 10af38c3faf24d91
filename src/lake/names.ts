import { dataFileName, type Manifest } from './manifest.js';

export const successName = '_SUCCESS';
export const partialEnding = '.partial';
export const keptEnding = '.kept';
export const manifestEnding = '.manifest.json';
export const keysEnding = '.keys.bin';
export const linkEnding = '.link';

/** Endings of the files next to the folder of a run, in the order in which they are removed. */
export const besideEndings = [linkEnding, keysEnding + partialEnding, keysEnding, manifestEnding + partialEnding, manifestEnding];
export const besideRun = /\.(?:link|(?:keys\.bin|manifest\.json)(?:\.partial)?)$/;

/** Whether a name can be that of a run, without leaving the folder. */
export function isRunId(name: string): boolean {
  return /^[\w-]+$/.test(name);
}

/** Whether leadstream uses a name in the folder of a run. The name of a data file contains the run, unlike those in someone's copy. */
export function isOurs(name: string, run: string): boolean {
  const whole = name.endsWith(partialEnding) ? name.slice(0, -partialEnding.length) : name;
  return whole === successName || (dataFileName.test(whole) && whole.endsWith(`-${run}.parquet`));
}

/** Returns all names that the files of a run have in its folder at some point. */
export function filesOf({ files }: Manifest): readonly string[] {
  return [...files.flatMap(({ name }) => [name, name + keptEnding]), successName, successName + partialEnding];
}
