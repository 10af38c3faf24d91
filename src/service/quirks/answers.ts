import { collections } from '../../collections/index.js';
import { failure, json, type Answer, type Responder } from '../answer.js';

/** Only one of the two paths of area codes is there. */
export function areacodePath(form: 'singular' | 'plural'): Responder {
  const gone = form === 'singular' ? 'areacodes' : 'areacode';
  return (facts, next) => (facts.path === gone ? failure(404, 'there is nothing at this path') : next(facts));
}

/** A page of every paged list is empty, each time or, for `3:once`, the first time that it is asked with some limit. */
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

/** Another answer than `[]` to an identifier that matches nothing. */
export function notFound(form: keyof typeof none): Responder {
  return async (facts, next) => {
    const answer = await next(facts);
    if (facts.id === null || answer.kind !== 'rows') return answer;
    const rows = [...answer.rows];
    return rows.length === 0 ? none[form] : { ...answer, rows };
  };
}

/** A single record without the array around it. Several rows, as of an area code, keep theirs. */
export const bareRecord: Responder = async (facts, next) => {
  const answer = await next(facts);
  if (facts.id === null || answer.kind !== 'rows') return answer;
  const rows = [...answer.rows];
  const [only, second] = rows;
  return only === undefined || second !== undefined ? { ...answer, rows } : json(only);
};
