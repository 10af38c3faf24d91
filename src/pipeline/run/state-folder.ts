import { join } from 'node:path';
import { fixedPath } from '../../store/index.js';
import { removeSpool } from '../../source/index.js';

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

  /** Removes spooled pages that are published: those of this state folder, whatever place a logged commit says that they are in. */
  readonly removeSpent = (folder: string): Promise<void> => removeSpool(this.spool, folder);
}
