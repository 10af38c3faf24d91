import { join } from 'node:path';
import { fixedPath, type LoggedCommit } from '../../store/index.js';
import { removeSpool } from '../../source/index.js';
import { keepRecovered } from './counts.js';

/** The folder in which runs leave what later ones need, and the places in it. */
export class StateFolder {
  /** Commits that are logged. */
  readonly redoLog: string;
  /** Raw pages. */
  readonly spool: string;
  /** Whose pages these are. */
  readonly begun: string;
  /** What earlier runs counted. */
  readonly counts: string;
  /** What is beyond the memory of a step. */
  readonly scratch: string;
  /** What is locked for sinks that have no path. */
  readonly sinks: string;

  private constructor(readonly path: string) {
    [this.redoLog, this.spool] = [join(path, 'redo-log'), join(path, 'spool')];
    [this.begun, this.counts, this.scratch] = [join(path, 'begun'), join(path, 'counts'), join(path, 'scratch')];
    this.sinks = join(path, 'sinks');
  }

  /**
   * @param baseDir Folder that a relative path resolves against.
   * @throws {LeadstreamError} `E_USAGE` for what is no folder of this machine.
   */
  static at(path = '.leadstream', baseDir: string): StateFolder {
    return new StateFolder(fixedPath(path, '--state-dir', baseDir));
  }

  /**
   * What is left to do of a commit that was recovered: the pages that are published go, those of this state folder, whatever place the commit
   * says that they are in, and what was counted stays.
   */
  readonly settle = async (commit: LoggedCommit): Promise<void> => {
    for (const folder of commit.spent ?? []) await removeSpool(this.spool, folder);
    await keepRecovered(this.counts, commit);
  };
}
