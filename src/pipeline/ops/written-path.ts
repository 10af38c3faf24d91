import { filledPath } from '../../store/index.js';
import type { RunReport } from '../run/report.js';

/** Returns a path of a pipeline, with name, id and day of a run filled in. */
export function writtenPath(name: string, { pipeline, runId, startedAt }: Pick<RunReport, 'pipeline' | 'runId' | 'startedAt'>): string {
  return filledPath(name, { pipeline, 'run.id': runId, 'run.date': startedAt.slice(0, 10) }) ?? name;
}
