/**
 * One step of a commit, as data that outlives JSON: sinks make actions, the redo log keeps them, and the store of the outputs carries them out. What
 * else one holds is the affair of its store. A change of what one of them means is a new version of the redo log.
 *
 * @example
 * { action: 'rename', from: '/lake/.leads.csv.RUN.partial', to: '/lake/leads.csv', file: { bytes: 3, sha256: '11507a…' } }
 * { action: 'link', at: '/lake/leads', to: '.leads.runs/RUN', draft: '/lake/.leads.runs/RUN.link' }
 */
export interface Action {
  /** What is done, by a name that the store knows. */
  readonly action: string;
}

/** An action that its store has understood. Nothing was looked at yet. */
export interface KnownAction {
  /** In words, for a message: `rename A to B`. */
  readonly words: string;
  /** Whether it is an action for an output, which it may change. */
  belongsTo(output: string): boolean;
}

/** The output that an action changes; `undefined` when it is an action for none of them. */
export function outputOf(outputs: readonly string[], action: KnownAction): string | undefined {
  return outputs.find((output) => action.belongsTo(output));
}
