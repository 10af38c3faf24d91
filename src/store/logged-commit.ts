import { basename } from 'node:path';
import type { z } from 'zod';
import { LeadstreamError, schema, SinkError } from '../core/index.js';
import { outputOf, type Action, type KnownAction } from './action.js';
import { foreign } from './own.js';
import type { Commit, Store } from './store.js';
import { storeNamed, storeNames } from './stores.js';

/** A commit of a run, as stored in the redo log. Once logged, it will be carried out, by this run or a later one. */
export interface LoggedCommit extends Commit {
  readonly runId: string;
  readonly pipeline: string;
  /** Folders of spooled pages that must not be used once the commit is done. Absolute paths; only their names are to be trusted. */
  readonly spent?: readonly string[] | undefined;
  /** Row counts of the run, for comparison by later ones; plain JSON that only the code that logged it can interpret. */
  readonly counts?: unknown;
}

/** A logged commit with what only the log adds. */
export interface StoredCommit extends LoggedCommit {
  readonly store: Store;
  /** The actions, as parsed by the store. */
  readonly known: readonly KnownAction[];
  /** ISO 8601. */
  readonly loggedAt: string;
}

/** What follows the run in the names of logged commits. */
export const commitEnding = '.commit.json';

/** Version of the redo log. It goes up when existing content changes its meaning, or when a reader of the previous version would lose content. */
const version = 4;

/** Everything but the content of the actions, which their store validates. */
const document = schema((z) =>
  z.strictObject({
    version: z.literal(version),
    store: z.string(),
    runId: z.string().regex(/^[\w-]+$/),
    pipeline: z.string(),
    loggedAt: z.string(),
    outputs: z.array(z.string()),
    actions: z.array(z.looseObject({ action: z.string() })),
    spent: z.array(z.string()).exactOptional(),
    counts: z.unknown().optional(),
  }),
);

/** The part of a document that shows whether this version can read it. */
const head = schema((z) => z.object({ version: z.int(), store: z.unknown(), actions: z.unknown() }));

/** Returns the text of a logged commit. */
export function textOfCommit(commit: LoggedCommit, store: Store, loggedAt: string): string {
  const { runId, pipeline, outputs, actions, spent, counts } = commit;
  return `${JSON.stringify({ version, store: store.name, runId, pipeline, loggedAt, outputs, actions, spent, counts }, null, 2)}\n`;
}

/**
 * Reads the text of a logged commit.
 *
 * @param path Where it was found, for messages.
 * @throws {SinkError} `E_SINK_WRITE` if it is damaged, or belongs to a run other than the one its file is named after.
 * @throws {LeadstreamError} `E_STATE_VERSION` with the version, store or action that is unknown here.
 */
export function commitIn(text: string, path: string): StoredCommit {
  const value = parsed(text);
  const begins = head().safeParse(value).data;
  const store = begins && knownStore(begins, path);
  const found = document().safeParse(value).data;
  const known = store && found && knownIn(store, found.actions);
  if (store === undefined || known === undefined || found?.runId !== basename(path, commitEnding))
    throw new SinkError('E_SINK_WRITE', `${path} is not a logged commit, or is damaged; ${giveUp(path)}`);
  const { version: _, ...commit } = found;
  return { ...commit, store, known };
}

/** Parses all actions of a commit; returns `undefined` if one of them is damaged. */
function knownIn(store: Store, actions: readonly Action[]): readonly KnownAction[] | undefined {
  const known = actions.flatMap((action) => store.actionIn(action) ?? []);
  return known.length === actions.length ? known : undefined;
}

/** @returns The store of a document whose version, store and actions are all known; `undefined` if it names no store. */
function knownStore(begins: z.output<ReturnType<typeof head>>, path: string): Store | undefined {
  if (begins.version !== version) throw unknown(path, `has version ${begins.version} of the redo log, but this leadstream has ${version}`);
  if (typeof begins.store !== 'string') return undefined;
  const store = storeNamed(begins.store);
  if (store === undefined) throw unknown(path, `is for the store ${shown(begins.store)}, but this leadstream has ${storeNames.join(', ')}`);
  const actions: readonly unknown[] = Array.isArray(begins.actions) ? begins.actions : [];
  actions.forEach((given, index) => {
    const name = nameOf(given);
    if (name === undefined || store.supports.includes(name)) return;
    const known = `but the store ${store.name} supports ${store.supports.join(', ')}`;
    throw unknown(path, `has the action ${shown(name)} (actions[${index}]), ${known}`);
  });
  return store;
}

/**
 * Returns the outputs that the actions of a logged commit change.
 *
 * @throws {LeadstreamError} `E_STATE_FOREIGN` for an action that would change anything else.
 */
export function changedOutputs({ outputs, known }: StoredCommit, path: string): readonly string[] {
  const changed = known.map((action) => {
    const output = outputOf(outputs, action);
    if (output === undefined) throw foreign(path, `would ${action.words}, which is not an action on one of its outputs`);
    return output;
  });
  return [...new Set(changed)];
}

/** Describes what to do about a logged commit that cannot be carried out. */
export function giveUp(path: string): string {
  return `to abandon that commit, check its outputs and remove ${path}`;
}

function unknown(path: string, what: string): LeadstreamError {
  const remedy = 'recover it with the version of leadstream that logged it (run --recover)';
  return new LeadstreamError('E_STATE_VERSION', `${path} ${what}; ${remedy}; ${giveUp(path)}`);
}

function nameOf(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null && 'action' in value && typeof value.action === 'string' ? value.action : undefined;
}

/** Quotes and shortens an untrusted name for a message. */
function shown(name: string): string {
  return JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
