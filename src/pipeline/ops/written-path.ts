import { filledPath } from '../../store/index.js';
import type { RunReport } from '../run/report.js';

/** A path as the pipeline names it, with name, id and day of a run in place of braces. */
export function writtenPath(name: string, { pipeline, runId, startedAt }: Pick<RunReport, 'pipeline' | 'runId' | 'startedAt'>): string {
  return filledPath(name, { pipeline, 'run.id': runId, 'run.date': startedAt.slice(0, 10) }) ?? name;
}
