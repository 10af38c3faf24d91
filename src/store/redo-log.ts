import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { z } from 'zod';
import { LeadstreamError, reasonOf, schema, SinkError } from '../core/index.js';
import { outputOf } from './confine.js';
import { attempt, reworded } from './failure.js';
import { syncFolder } from './folders.js';
import { refuseLinks } from './links.js';
import { lockOutputs, type Lock } from './lock.js';
import { foreign, isPrivate, makePrivate, readOwn } from './own.js';
import { Publication, type Move } from './commit.js';
import { replaceFile } from './replace.js';
import { removeTemporaries } from './temporary.js';

const intent = schema((z) =>
  z.object({
    runId: z.string().regex(/^[\w-]+$/),
    pipeline: z.string(),
    /** The outputs that the run had locked. Absolute paths. */
    outputs: z.array(z.string()).readonly(),
    /** All renames of the publication, in their order. */
    moves: z
      .array(
        z.object({
          from: z.string(),
          to: z.string(),
          link: z.string().optional(),
          file: z.object({ bytes: z.int().nonnegative(), sha256: z.string().optional() }).optional(),
        }),
      )
      .readonly(),
    /** Folders of spooled pages that nobody may use once the moves are done. Absolute paths; only their names are to be believed. */
    spent: z.array(z.string()).readonly().optional(),
  }),
);

const writtenIntent = schema((z) => intent().extend({ version: z.literal(2), writtenAt: z.string() }));

/** What a run has decided to publish. Once it is written, the publication will be completed, by this run or a later one. */
export type Intent = z.output<ReturnType<typeof intent>>;

/** An intent that a later run has completed. `writtenAt` is ISO 8601. */
export type FinishedIntent = Intent & { readonly writtenAt: string };

/** What `finishIntents` works on. */
export interface FinishOptions {
  /** Run that finishes; locks that it needs bear its name. */
  readonly runId: string;
  /** Outputs that the caller has locked. Absolute paths. Default: none. */
  readonly held?: readonly string[];
  /** Which intents are finished. Default: all. */
  readonly only?: (intent: Intent) => boolean;
  /** Removes spooled pages that were published; called when the moves are done, before the intent is forgotten. */
  readonly removeSpent?: (folder: string) => Promise<void>;
}

/**
 * Checks what a run is about to publish, and makes it durable as `<folder>/<runId>.intent.json`. The caller holds the locks of the
 * outputs, and the contents of all that the moves start from are durable; their names are made so here.
 *
 * @param folder A folder in the state folder; both are made when missing, private (0700).
 * @returns The publication, which is decided by now; the caller carries it out.
 * @throws {SinkError} `E_SINK_PATH`, `E_SINK_WRITE`, `E_SINK_FOREIGN` for a link in the way, or `E_SINK_VERIFY` when a file is not as it
 * was written; then nothing was decided.
 * @throws {LeadstreamError} `E_STATE_FOREIGN` when the folder cannot be ours.
 */
export async function writeIntent(folder: string, intent: Intent): Promise<Publication> {
  const { runId, pipeline, outputs, moves, spent } = intent;
  const publication = await prepare(pathOf(folder, runId), intent);
  await attempt('E_SINK_PATH', `cannot make the folder ${folder}`, () => makePrivate(folder));
  // The intent may lie on another disk: what it starts from must not be younger than itself after a loss of power.
  for (const from of new Set(moves.map((move) => dirname(move.from)))) {
    await attempt('E_SINK_WRITE', `cannot make ${from} durable`, () => syncFolder(from));
  }
  const text = JSON.stringify({ version: 2, runId, pipeline, writtenAt: new Date().toISOString(), outputs, moves, spent }, null, 2);
  await attempt('E_SINK_WRITE', `cannot write the intent to publish in ${folder}`, () =>
    replaceFile(pathOf(folder, runId), `${text}\n`, { durable: true, mode: 0o600 }),
  );
  return publication;
}

/**
 * Forgets an intent, after its moves were done.
 *
 * @throws {SinkError} `E_SINK_WRITE`.
 */
export async function removeIntent(folder: string, runId: string): Promise<void> {
  await attempt('E_SINK_WRITE', `cannot remove the intent to publish in ${folder}`, async () => {
    await rm(pathOf(folder, runId), { force: true });
    await syncFolder(folder);
  });
}

/**
 * Completes the publications that killed runs had decided, oldest first. It comes before anything else is done to the outputs,
 * because opening an output removes what the moves start from.
 *
 * Outputs of an intent that the caller does not hold are locked meanwhile. An intent whose outputs are held by a living run is
 * that run's own business; but when it shares an output with the caller, the caller has to wait.
 *
 * Nothing but the outputs that an intent names is touched, and of an intent everything is checked before anything is renamed.
 *
 * @throws {SinkError} `E_SINK_WRITE`, `E_SINK_VERIFY` or `E_SINK_FOREIGN` when an intent cannot be completed: it stays, and the message
 * says how to give it up.
 * @throws {LeadstreamError} `E_RUN_LOCKED` as said; `E_STATE_FOREIGN` when the folder or an intent was not made by leadstream for this user.
 */
export async function finishIntents(folder: string, options: FinishOptions): Promise<readonly FinishedIntent[]> {
  const { runId, held = [], only = () => true, removeSpent } = options;
  const finished: FinishedIntent[] = [];
  for (const name of await intentNames(folder)) {
    const path = join(folder, name);
    const found = await readIntent(path);
    if (found === undefined || !only(found)) continue;
    // An output that nothing is moved to is none of an intent's business, whatever it says.
    const moved = new Set(found.moves.map((move) => outputFor(path, found, move)));
    const lock = await lockRest({ ...found, outputs: [...moved] }, held, runId);
    if (lock === undefined) continue;
    try {
      // The run that held the locks until now may have finished it itself.
      if ((await readIntent(path)) === undefined) continue;
      await redo(found, path);
      for (const spent of found.spent ?? []) await removeSpent?.(spent);
      await removeIntent(folder, found.runId);
      finished.push(found);
    } finally {
      await lock.release();
    }
  }
  return finished;
}

const ending = '.intent.json';

function pathOf(folder: string, runId: string): string {
  return join(folder, runId + ending);
}

/** Names of the intents, by run and so by time. What killed writers left half-written goes. */
async function intentNames(folder: string): Promise<readonly string[]> {
  return attempt('E_SINK_PATH', `cannot read ${folder}`, async () => {
    if (!(await isPrivate(folder))) return [];
    await removeTemporaries(folder, (name) => name.endsWith(ending));
    return (await readdir(folder)).filter((name) => name.endsWith(ending)).sort();
  });
}

async function readIntent(path: string): Promise<FinishedIntent | undefined> {
  const text = await attempt('E_SINK_WRITE', `cannot read ${path}`, () => readOwn(path));
  if (text === undefined) return undefined;
  const found = parsed(text);
  if (found?.runId !== basename(path, ending))
    throw new SinkError('E_SINK_WRITE', `${path} is no intent to publish, or damaged; ${giveUp(path)}`);
  return found;
}

function parsed(text: string): FinishedIntent | undefined {
  try {
    return writtenIntent().safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The output of the intent at a path that a move belongs to. */
function outputFor(path: string, { outputs }: Intent, move: Move): string {
  const output = outputOf(outputs, move);
  if (output === undefined) throw foreign(path, `would rename ${move.from} to ${move.to}, which is no move for an output that it names`);
  return output;
}

/** Makes sure that all moves of the intent at a path can be done, and touch nothing but its outputs. */
async function prepare(path: string, intent: Intent): Promise<Publication> {
  const checked = new Set<string>();
  for (const move of intent.moves) {
    const above = dirname(outputFor(path, intent, move));
    for (const folder of [dirname(move.from), dirname(move.to)]) {
      if (!checked.has(folder)) await refuseLinks(above, folder);
      checked.add(folder);
    }
  }
  return Publication.of(intent.moves);
}

/** Locks the outputs that the caller does not hold; `undefined` when they are none of its business. */
async function lockRest(intent: Intent, held: readonly string[], runId: string): Promise<Lock | undefined> {
  const rest = intent.outputs.filter((output) => !held.includes(output));
  try {
    return await lockOutputs(rest, { runId });
  } catch (failure) {
    const shared = rest.length < intent.outputs.length;
    if (!shared && failure instanceof LeadstreamError && failure.code === 'E_RUN_LOCKED') return undefined;
    throw failure;
  }
}

async function redo(intent: FinishedIntent, path: string): Promise<void> {
  try {
    const publication = await prepare(path, intent);
    await publication.carryOut();
  } catch (failure) {
    const what = `cannot finish what run ${intent.runId} decided to publish at ${intent.writtenAt}`;
    throw reworded(failure, `${what}: ${reasonOf(failure)}; ${giveUp(path)}`);
  }
}

function giveUp(path: string): string {
  return `to give that publication up, look at its outputs and remove ${path}`;
}
