/** What was written to a file. */
export interface FileContent {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** What a file has to hold before it is renamed. One that an earlier run wrote has no SHA-256 here: all of a table would be read for every append. */
export type ExpectedContent = Pick<FileContent, 'bytes'> & Partial<Pick<FileContent, 'sha256'>>;

/** Renames something that is there; a file at `to` is replaced in one step. Absolute paths. */
export interface RenameAction {
  readonly action: 'rename';
  readonly from: string;
  readonly to: string;
  /** What the file at `from` has to hold. */
  readonly file?: ExpectedContent;
}

/**
 * Puts a link in place of another one, of an empty folder, or of nothing, in one step: readers of `at` see what it points to before, or what
 * it points to afterwards.
 */
export interface LinkAction {
  readonly action: 'link';
  /** Where the link is to be. Absolute path. */
  readonly at: string;
  /** What it points to, relative to its folder. */
  readonly to: string;
  /** The same link under a name that readers ignore, which is renamed to `at`. Absolute path. */
  readonly draft: string;
}

/**
 * One step of a commit, as data that outlives JSON: sinks make actions, the redo log keeps them, and a store carries them out. A change of what
 * one of them means is a new version of the redo log.
 *
 * @example
 * { action: 'rename', from: '/lake/.leads.csv.RUN.partial', to: '/lake/leads.csv', file: { bytes: 3, sha256: '11507a…' } }
 * { action: 'link', at: '/lake/leads', to: '.leads.runs/RUN', draft: '/lake/.leads.runs/RUN.link' }
 */
export type Action = RenameAction | LinkAction;

/** What becomes another thing by an action: where readers find its result. */
export function destinationOf(action: Action): string {
  return action.action === 'rename' ? action.to : action.at;
}

/** An action in words, for a message: `rename A to B`. */
export function describeAction(action: Action): string {
  return action.action === 'rename' ? `rename ${action.from} to ${action.to}` : `link ${action.at} to ${action.to}`;
}
