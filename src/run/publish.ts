import { reasonOf } from '../core/index.js';
import type { Events } from '../events/index.js';
import type { PreparedOutput } from '../sinks/index.js';
import { forgetCommit, logCommit, prepareCommit, reworded, type Commit, type LoggedCommit } from '../store/index.js';

/** Where a commit is logged before it is carried out, so that the next run completes it if this process is killed. */
export interface CommitLog extends Omit<LoggedCommit, keyof Commit> {
  readonly folder: string;
  /** Called when the commit is logged. From then on, what it needs must stay. */
  logged?(): void;
  /** Does what precedes the removal of the commit from the log. */
  settle?(): Promise<void>;
}

export interface PublishOptions {
  readonly outputs: readonly { readonly at: string; readonly prepared: Pick<PreparedOutput, 'path' | 'commit' | 'cleanup'> }[];
  readonly commit: Commit;
  readonly partial?: boolean;
  readonly events?: Events;
  /** Receives the places of the outputs that have published before the others. */
  readonly done?: string[];
  readonly nonFatal: (failure: unknown) => void;
}

/**
 * Publishes outputs: one after another those that no action commits, then the others by their actions in one step. If that step is logged,
 * it is completed even if this process is killed. A failure names the outputs published before it.
 * @param log Default: nothing completes an interrupted commit.
 */
export async function publish(
  { outputs, commit, partial = false, events, done = [], nonFatal }: PublishOptions,
  log?: CommitLog,
): Promise<void> {
  const ready = async () => {
    for (const { at, prepared } of outputs) {
      if (!prepared.commit) continue;
      await prepared.commit(partial);
      done.push(at);
    }
    return log ? logCommit(log.folder, { ...log, ...commit }) : prepareCommit(commit);
  };
  const prepared = await ready().catch((failure: unknown) => {
    if (done.length === 0) throw failure;
    throw reworded(failure, `${reasonOf(failure)}; ${done.join(', ')} had already published, and will receive all rows again`);
  });
  log?.logged?.();
  const carriedOut = async () => {
    await prepared.commit().catch((failure: unknown) => {
      if (!log) throw failure;
      throw reworded(failure, `${reasonOf(failure)}; the commit is in the redo log, and the next run, or run --recover, completes it`);
    });
    await log?.settle?.();
    try {
      // The next run carries out a commit again that stays, which changes nothing.
      if (log) await forgetCommit(log.folder, log.runId);
      await each(outputs, (output) => output.prepared.cleanup());
    } catch (failure) {
      nonFatal(failure);
    }
  };
  const facts = { outputs: outputs.flatMap((output) => output.prepared.path ?? []), actions: commit.actions.length };
  await (events ? events.during('commit', () => facts, carriedOut) : carriedOut());
}

/** Waits for all even if one fails, so that nothing writes after a failure. */
export async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = await Promise.allSettled(items.map(work));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
