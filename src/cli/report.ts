import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SinkError, reasonOf } from '../errors.js';

/**
 * Writes the report of a run where `--report` says.
 *
 * @throws {SinkError} `E_SINK_WRITE`.
 */
export async function writeReport(file: string | undefined, report: object): Promise<void> {
  if (file === undefined) return;
  try {
    await writeFile(resolve(file), `${JSON.stringify(report, undefined, 2)}\n`);
  } catch (error) {
    throw new SinkError('E_SINK_WRITE', `--report ${file}: ${reasonOf(error)}`);
  }
}
