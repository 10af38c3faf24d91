/**
 * One step of a commit, as plain data that can be stored as JSON. Sinks create actions, the redo log stores them, and the store of the outputs carries them
 * out. All other properties are up to the store. Changing the meaning of one requires a new version of the redo log.
 *
 * @example
 * { action: 'rename', from: '/lake/.leads.csv.RUN.partial', to: '/lake/leads.csv', file: { bytes: 3, sha256: '11507a…' } }
 * { action: 'link', at: '/lake/leads', to: '.leads.runs/RUN', draft: '/lake/.leads.runs/RUN.link' }
 */
export interface Action {
  /** The kind of action, by a name that the store supports. */
  readonly action: string;
}

/** An action parsed by its store. Parsing does not access the disk. */
export interface KnownAction {
  /** Description for a message: `rename A to B`. */
  readonly words: string;
  /** Returns whether the action may change an output. */
  belongsTo(output: string): boolean;
}

/** Returns the output that an action changes; `undefined` if it changes none of them. */
export function outputOf(outputs: readonly string[], action: KnownAction): string | undefined {
  return outputs.find((output) => action.belongsTo(output));
}
