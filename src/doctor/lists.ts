import type { Collection, Served } from '../collections/index.js';
import { cameOf, type Findings } from './findings.js';
import { askList, isList } from './reach.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

/** A collection whose pages can be measured, and the path that serves it. */
export interface Subject {
  readonly collection: Collection;
  readonly path: string;
}

/** A custom collection. */
export interface OwnSubject extends Subject {
  readonly served: Served;
  /** The answer to a request for one of its rows. */
  readonly reply: Reply;
}

/** The collections to measure. */
interface Subjects {
  /** The first paged standard collection that has rows. */
  readonly subject: Subject | undefined;
  /** The custom collections. */
  readonly own: readonly OwnSubject[];
}

/** Requests a row of every collection. */
export async function findSubjects(asking: Requester, findings: Findings, collections: readonly Collection[]): Promise<Subjects> {
  const replies: { readonly collection: Collection; readonly reply: Reply }[] = [];
  for (const collection of collections) replies.push({ collection, reply: await askList(asking, collection) });
  const all = replies.map(({ reply }) => reply);
  const wrong = replies.filter(({ reply }) => !isList(reply));
  const empty = replies.filter(({ reply }) => isList(reply) && reply.records.length === 0).map(({ collection }) => collection.name);
  const other = replies.filter(
    ({ collection, reply }) => !collection.served && reply.records.length > 0 && pathIn(reply) !== collection.paths[0],
  );
  const told = [
    ...wrong.map(({ collection, reply }) => `${collection.name}: ${cameOf(reply)}`),
    ...(empty.length === 0 ? [] : [`without rows: ${empty.join(', ')}`]),
    ...other.map(({ collection, reply }) => `${collection.name} is at /api/${pathIn(reply)}, which leadstream finds by itself`),
  ];
  const unasked = wrong.filter(({ reply }) => reply.kind === 'unasked' || reply.kind === 'failed');
  const outcome = wrong.length > unasked.length ? 'problem' : unasked.length > 0 ? 'unknown' : told.length > 0 ? 'note' : 'ok';
  findings.add(
    'collections',
    outcome,
    told.length === 0
      ? `${collections.map(({ name }) => name).join(', ')}${collections.length === 1 ? ' has' : ': each has'} rows`
      : told.join('; '),
    all,
  );
  const chosen = replies.find(
    ({ collection, reply }) => !collection.served && collection.paged && isList(reply) && reply.records.length > 0,
  );
  return {
    subject: chosen && { collection: chosen.collection, path: pathIn(chosen.reply) },
    own: replies.flatMap(({ collection, reply }) => {
      const { served, paths } = collection;
      return served ? [{ collection, path: paths[0], served, reply }] : [];
    }),
  };
}

function pathIn({ evidence: { request } }: Reply): string {
  return /\/api\/([^/?,]+)(?:\?|,|$)/.exec(request)?.[1] ?? '';
}
