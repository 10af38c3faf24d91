import { join } from 'node:path';
import { fixedPath, type LoggedCommit } from '../store/index.js';
import { removeSpool } from '../source/index.js';
import { keepRecovered } from './counts.js';

/** The folder in which runs store state for later ones, and the paths in it. */
export class StateFolder {
  /** Logged commits. */
  readonly redoLog: string;
  /** Raw pages. */
  readonly spool: string;
  /** Records of the runs that the pages belong to. */
  readonly begun: string;
  /** Counts of earlier runs. */
  readonly counts: string;
  /** Data that does not fit into the memory of a step. */
  readonly scratch: string;
  /** Locks for sinks without a path. */
  readonly sinks: string;

  private constructor(readonly path: string) {
    [this.redoLog, this.spool] = [join(path, 'redo-log'), join(path, 'spool')];
    [this.begun, this.counts, this.scratch] = [join(path, 'begun'), join(path, 'counts'), join(path, 'scratch')];
    this.sinks = join(path, 'sinks');
  }

  /**
   * @param baseDir Folder that a relative path resolves against.
   * @throws {LeadstreamError} `E_USAGE` if it is not a folder of this machine.
   */
  static at(path = '.leadstream', baseDir: string): StateFolder {
    return new StateFolder(fixedPath(path, '--state-dir', baseDir));
  }

  /**
   * Does the remaining work of a recovered commit: removes the published pages, which are always those of this state folder,
   * whatever path the commit has for them, and stores the counts.
   */
  readonly settle = async (commit: LoggedCommit): Promise<void> => {
    for (const folder of commit.spent ?? []) await removeSpool(this.spool, folder);
    await keepRecovered(this.counts, commit);
  };
}
