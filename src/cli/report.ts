import { writeFile } from 'node:fs/promises';
import { SinkError, reasonOf } from '../errors.js';
import { fixedPath } from '../local-path.js';
import { jsonOf } from '../printable.js';
import type { CommandContext } from './context.js';

/** The file of `--report`, or nothing. */
export interface ReportFile {
  /** Puts the report in place. That it cannot is a warning: what was published stays published, and the first failure comes first. */
  write(report: object): Promise<void>;
}

/**
 * Makes the report's file, empty: one that cannot be written is told before the first request, and the report of an earlier run
 * cannot be taken for that of a run that was killed.
 *
 * @param file Without, there is no report.
 * @throws {LeadstreamError} `E_USAGE` for what is no file of this machine.
 * @throws {SinkError} `E_SINK_PATH`.
 */
export async function openReport(file: string | undefined, { console, cwd }: CommandContext): Promise<ReportFile> {
  if (file === undefined) return { write: () => Promise.resolve() };
  const path = fixedPath(file, '--report', cwd);
  try {
    await writeFile(path, '');
  } catch (error) {
    throw new SinkError('E_SINK_PATH', `--report ${file}: ${reasonOf(error)}`);
  }
  return {
    write: async (report) => {
      try {
        await writeFile(path, `${jsonOf(report, { redact: console.redact, indent: 2 })}\n`);
      } catch (error) {
        console.log('warn', `the report was not written: --report ${file}: ${reasonOf(error)}`);
      }
    },
  };
}
