import { dataFileName, type Manifest } from './manifest.js';

export const successName = '_SUCCESS';
export const partialEnding = '.partial';
export const keptEnding = '.kept';
export const manifestEnding = '.manifest.json';
export const keysEnding = '.keys.bin';
export const linkEnding = '.link';

/** What the names of files beside a run have behind its own, in the order in which they are removed. */
export const besideEndings = [linkEnding, keysEnding + partialEnding, keysEnding, manifestEnding + partialEnding, manifestEnding];
export const besideRun = /\.(?:link|(?:keys\.bin|manifest\.json)(?:\.partial)?)$/;

/** Whether a name can be that of a run: it climbs nowhere. */
export function isRunId(name: string): boolean {
  return /^[\w-]+$/.test(name);
}

/** Whether we give a name in the folder of a run: that of a data file has the run in it, which those in somebody's copy have not. */
export function isOurs(name: string, run: string): boolean {
  const whole = name.endsWith(partialEnding) ? name.slice(0, -partialEnding.length) : name;
  return whole === successName || (dataFileName.test(whole) && whole.endsWith(`-${run}.parquet`));
}

/** The names that the files of a run have in its folder, at one time or another. */
export function filesOf({ files }: Manifest): readonly string[] {
  return [...files.flatMap(({ name }) => [name, name + keptEnding]), successName, successName + partialEnding];
}
