import { collections } from '../../collections/index.js';
import { failure, json, type Answer, type Responder } from '../answer.js';

/** Serves only one of the two paths of area codes. */
export function areacodePath(form: 'singular' | 'plural'): Responder {
  const gone = form === 'singular' ? 'areacodes' : 'areacode';
  return (facts, next) => (facts.path === gone ? failure(404, 'there is nothing at this path') : next(facts));
}

/** Makes a page of every paged list empty, always or, for `3:once`, only the first time that it is requested with a given limit. */
export function emptyPage(spec: string): Responder {
  const [page, once] = spec.split(':');
  const asked = new Set<string>();
  return (facts, next) => {
    if (facts.id !== null || facts.page !== Number(page) || !collections[facts.collection].paged) return next(facts);
    const request = `${facts.collection} ${facts.limit}`;
    if (once !== undefined && asked.has(request)) return next(facts);
    asked.add(request);
    return { kind: 'rows', rows: [] };
  };
}

const none: Readonly<Record<'404' | 'object' | 'null' | 'nothing', Answer>> = {
  404: failure(404, 'no such record'),
  object: json('{}'),
  null: json('null'),
  nothing: json(''),
};

/** Answers an identifier that matches nothing with something other than `[]`. */
export function notFound(form: keyof typeof none): Responder {
  return async (facts, next) => {
    const answer = await next(facts);
    if (facts.id === null || answer.kind !== 'rows') return answer;
    const rows = [...answer.rows];
    return rows.length === 0 ? none[form] : { ...answer, rows };
  };
}

/** Answers with a single record without the array around it. Several rows, as for an area code, keep theirs. */
export const bareRecord: Responder = async (facts, next) => {
  const answer = await next(facts);
  if (facts.id === null || answer.kind !== 'rows') return answer;
  const rows = [...answer.rows];
  const [only, second] = rows;
  return only === undefined || second !== undefined ? { ...answer, rows } : json(only);
};
