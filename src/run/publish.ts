import { reasonOf } from '../core/index.js';
import type { Events } from '../events/index.js';
import type { PreparedOutput } from '../sinks/index.js';
import { forgetCommit, logCommit, prepareCommit, reworded, type Commit, type LoggedCommit } from '../store/index.js';

/** Where a commit is logged before it is carried out: if this process is killed, the next run completes it. */
export interface CommitLog extends Omit<LoggedCommit, keyof Commit> {
  /** Folder of the redo log. */
  readonly folder: string;
  /** Called as soon as the commit is logged. From then on nothing that it needs may be removed. */
  logged?(): void;
  /** Does what must be done before the commit is removed from the log. */
  settle?(): Promise<void>;
}

export interface PublishOptions {
  readonly outputs: readonly { readonly at: string; readonly prepared: Pick<PreparedOutput, 'path' | 'commit' | 'cleanup'> }[];
  /** The actions that commit the outputs, and the paths that they may change. */
  readonly commit: Commit;
  /** Whether a limit stopped the read. */
  readonly partial?: boolean;
  readonly events?: Events;
  /** Receives failures after the commit. */
  readonly nonFatal: (failure: unknown) => void;
}

/**
 * Publishes outputs: first those that no action commits, one after another, then the others by their actions, in one step, which is
 * completed even if this process is killed, provided that it is logged. A failure names the outputs that had published before it.
 *
 * @param log Default: if the commit is interrupted, nothing completes it.
 */
export async function publish({ outputs, commit, partial = false, events, nonFatal }: PublishOptions, log?: CommitLog): Promise<void> {
  const done: string[] = [];
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
      // One that stays is carried out again by the next run, which changes nothing.
      if (log) await forgetCommit(log.folder, log.runId);
      await each(outputs, (output) => output.prepared.cleanup());
    } catch (failure) {
      nonFatal(failure);
    }
  };
  const facts = { outputs: outputs.flatMap((output) => output.prepared.path ?? []), actions: commit.actions.length };
  await (events ? events.during('commit', () => facts, carriedOut) : carriedOut());
}

/** Waits for all even if one fails, so that nothing keeps writing after a failure. */
export async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = await Promise.allSettled(items.map(work));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
