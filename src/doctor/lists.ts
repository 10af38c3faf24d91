import type { Collection } from '../collections/index.js';
import { cameOf, type Findings } from './findings.js';
import { askList, isList } from './reach.js';
import type { Reply } from './reply.js';
import type { Requester } from './requester.js';

/** A collection whose pages can be measured, and the path that serves it. */
export interface Subject {
  readonly collection: Collection;
  readonly path: string;
}

/**
 * Asks for a row of every collection.
 *
 * @returns The first collection by pages that has rows.
 */
export async function findSubject(asking: Requester, findings: Findings, collections: readonly Collection[]): Promise<Subject | undefined> {
  const replies: { readonly collection: Collection; readonly reply: Reply }[] = [];
  for (const collection of collections) replies.push({ collection, reply: await askList(asking, collection) });
  const all = replies.map(({ reply }) => reply);
  const wrong = replies.filter(({ reply }) => !isList(reply));
  const empty = replies.filter(({ reply }) => isList(reply) && reply.records.length === 0).map(({ collection }) => collection.name);
  const other = replies.filter(({ collection, reply }) => reply.records.length > 0 && pathIn(reply) !== collection.paths[0]);
  const told = [
    ...wrong.map(({ collection, reply }) => `${collection.name}: ${cameOf(reply)}`),
    ...(empty.length === 0 ? [] : [`without rows: ${empty.join(', ')}`]),
    ...other.map(({ collection, reply }) => `${collection.name} is at /api/${pathIn(reply)}, which leadstream finds by itself`),
  ];
  const unasked = wrong.filter(({ reply }) => reply.kind === 'unasked' || reply.kind === 'failed');
  const outcome = wrong.length > unasked.length ? 'problem' : unasked.length > 0 ? 'unknown' : told.length > 0 ? 'note' : 'ok';
  const fine = replies.length - wrong.length - empty.length;
  findings.add(
    'collections',
    outcome,
    told.length === 0 ? `${collections.map(({ name }) => name).join(', ')}: each has rows` : told.join('; '),
    all,
  );
  if (fine === 0) return undefined;
  const chosen = replies.find(({ collection, reply }) => collection.paged && isList(reply) && reply.records.length > 0);
  return chosen && { collection: chosen.collection, path: pathIn(chosen.reply) };
}

function pathIn({ evidence: { request } }: Reply): string {
  return /\/api\/([^/?,]+)(?:\?|,|$)/.exec(request)?.[1] ?? '';
}
