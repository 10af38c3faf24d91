import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { LeadstreamError, schema, SinkError, reasonOf } from '../core/index.js';
import { attempt, isLocked, reworded } from './failure.js';
import { jsonIn, removeFile, removeTemporaries, replaceFile, syncFolder } from './files.js';
import { foreign, isPrivate, makePrivate, readOwn } from './own.js';
import { actionIn, outputOf, prepareCommit, type Commit, type KnownAction, type PreparedCommit } from './commit.js';
import { lockOutputs } from './lock.js';

/** A commit of a run, as stored in the redo log. Once logged, it will be carried out, by this run or a later one. */
export interface LoggedCommit extends Commit {
  readonly runId: string;
  readonly pipeline: string;
  /** Folders of spooled pages that must not be used once the commit is done. Only their names are to be trusted. */
  readonly spent?: readonly string[] | undefined;
  /** Row counts of the run, for comparison by later ones. */
  readonly counts?: unknown;
}

interface StoredCommit extends LoggedCommit {
  readonly path: string;
  readonly known: readonly KnownAction[];
  /** ISO 8601. */
  readonly loggedAt: string;
}

/** The version goes up with every new store or action, when content changes its meaning, and when a reader of the previous version would lose content. */
const version = 4;
const store = 'local-disk';

/** Everything but the content of the actions. */
const document = schema((z) =>
  z.strictObject({
    version: z.literal(version),
    store: z.literal(store),
    runId: z.string().regex(/^[\w-]+$/),
    pipeline: z.string(),
    loggedAt: z.string(),
    outputs: z.array(z.string()),
    actions: z.array(z.looseObject({ action: z.string() })),
    spent: z.array(z.string()).exactOptional(),
    counts: z.unknown().optional(),
  }),
);

const head = schema((z) => z.object({ version: z.int() }));

const commitEnding = '.commit.json';

/**
 * Checks what a run is about to commit, and makes it durable as `<folder>/<runId>.commit.json`. The caller holds the locks of the outputs, and the contents of
 * all sources of the actions are durable.
 *
 * @returns The commit, which will be carried out from now on, by the caller or by recovery.
 * @throws As `prepareCommit` and `makePrivate`; nothing is logged then.
 */
export async function logCommit(folder: string, commit: LoggedCommit): Promise<PreparedCommit> {
  const { runId, pipeline, outputs, actions, spent, counts } = commit;
  const prepared = await prepareCommit(commit);
  await attempt('E_SINK_PATH', `cannot create the folder ${folder}`, () => makePrivate(folder));
  const loggedAt = new Date().toISOString();
  const text = JSON.stringify({ version, store, runId, pipeline, loggedAt, outputs, actions, spent, counts }, null, 2);
  await attempt('E_SINK_WRITE', `cannot write the redo log in ${folder}`, () =>
    replaceFile(pathOf(folder, runId), `${text}\n`, 0o600, true),
  );
  return prepared;
}

/** Removes a commit from the log after it was carried out. */
export async function forgetCommit(folder: string, runId: string): Promise<void> {
  await attempt('E_SINK_WRITE', `cannot remove from the redo log in ${folder}`, async () => {
    await removeFile(pathOf(folder, runId));
    await syncFolder(folder);
  });
}

function pathOf(folder: string, runId: string): string {
  return join(folder, runId + commitEnding);
}

/** Returns all logged commits, by run and so by time. Removes the incomplete files of killed writers. */
async function loggedCommits(folder: string): Promise<readonly StoredCommit[]> {
  const names = await attempt('E_SINK_PATH', `cannot read ${folder}`, async () => {
    if (!(await isPrivate(folder))) return [];
    await removeTemporaries(folder, (name) => name.endsWith(commitEnding));
    return (await readdir(folder)).filter((name) => name.endsWith(commitEnding)).sort();
  });
  const found: StoredCommit[] = [];
  for (const name of names) {
    const commit = await readCommit(join(folder, name));
    if (commit) found.push(commit);
  }
  return found;
}

/** Reads a commit in the log; `undefined` if it no longer exists. @throws As `recoverCommits`. */
async function readCommit(path: string): Promise<StoredCommit | undefined> {
  const text = await attempt('E_SINK_WRITE', `cannot read ${path}`, () => readOwn(path));
  if (text === undefined) return undefined;
  const value = jsonIn(text);
  const found = head().safeParse(value).data?.version ?? version;
  if (found !== version) {
    const remedy = 'recover it with the version of leadstream that logged it (run --recover)';
    const what = `has version ${found} of the redo log, but this leadstream has ${version}`;
    throw new LeadstreamError('E_STATE_VERSION', `${path} ${what}; ${remedy}; ${giveUp(path)}`);
  }
  const logged = document().safeParse(value).data;
  const known = logged?.actions.flatMap((action) => actionIn(action) ?? []);
  if (!logged || known?.length !== logged.actions.length || logged.runId !== basename(path, commitEnding))
    throw new SinkError('E_SINK_WRITE', `${path} is not a logged commit, or is damaged; ${giveUp(path)}`);
  const { version: _, ...commit } = logged;
  return { ...commit, path, known };
}

function changedOutputs({ path, outputs, known }: StoredCommit): readonly string[] {
  const changed = known.map((action) => {
    const output = outputOf(outputs, action);
    if (output === undefined) throw foreign(path, `would ${action.words}, which is not an action on one of its outputs`);
    return output;
  });
  return [...new Set(changed)];
}

function giveUp(path: string): string {
  return `to abandon that commit, check its outputs and remove ${path}`;
}

interface RecoveryOptions {
  readonly runId: string;
  /** Outputs that the caller has locked. */
  readonly held?: readonly string[];
  readonly only?: (commit: LoggedCommit) => boolean;
  /** Does the remaining work of a commit, before it is removed from the log. */
  readonly settle?: (commit: LoggedCommit) => Promise<void>;
}

/**
 * Carries out the commits logged by killed runs, oldest first. Call it before anything else is done to the outputs,
 * because opening an output removes the sources of the actions.
 *
 * Outputs of a commit that the caller does not hold are locked meanwhile. A commit whose outputs are held by a living run is left to that run, but
 * if it shares an output with the caller, the caller must wait: `E_RUN_LOCKED`. The whole log is read before anything is done.
 *
 * @throws {SinkError} If a commit cannot be carried out: it stays in the log, and the message explains how to give it up.
 * @throws {LeadstreamError} `E_STATE_VERSION` for a commit of another version; `E_STATE_FOREIGN` for one that is not this user's.
 */
export async function recoverCommits(folder: string, options: RecoveryOptions): Promise<readonly LoggedCommit[]> {
  const { only = () => true } = options;
  const recovered: LoggedCommit[] = [];
  for (const commit of await loggedCommits(folder)) if (only(commit) && (await recover(folder, commit, options))) recovered.push(commit);
  return recovered;
}

/** @returns Whether this call carried it out. */
async function recover(folder: string, commit: StoredCommit, { runId, held = [], settle }: RecoveryOptions): Promise<boolean> {
  const { path, loggedAt } = commit;
  // Outputs that no action changes are irrelevant to a commit, even if it lists them.
  const outputs = changedOutputs(commit);
  const rest = outputs.filter((output) => !held.includes(output));
  const lock = await lockOutputs(rest, { runId }).catch((failure: unknown) => {
    if (isLocked(failure) && rest.length === outputs.length) return undefined;
    if (isLocked(failure)) throw failure;
    throw reworded(failure, `cannot recover ${path}: ${reasonOf(failure)}; ${giveUp(path)}`);
  });
  if (lock === undefined) return false;
  try {
    // The run that held the locks until now may have carried it out itself.
    if ((await readCommit(path)) === undefined) return false;
    try {
      await (await prepareCommit(commit)).commit();
    } catch (failure) {
      const what = `cannot recover the commit that run ${commit.runId} logged at ${loggedAt}`;
      throw reworded(failure, `${what}: ${reasonOf(failure)}; ${giveUp(path)}`);
    }
    await settle?.(commit);
    await forgetCommit(folder, commit.runId);
    return true;
  } finally {
    await lock.release();
  }
}
