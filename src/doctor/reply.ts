import type { EndForm, Served } from '../collections/index.js';
import { amountOf, SourceError } from '../core/index.js';
import type { Answer } from '../http/index.js';
import { readJson, type JsonRecord } from '../json/index.js';
import { endFormOf, isSequential, nameShape, readList, readSingle, type Position } from '../source/index.js';
import type { Exchange } from './diagnosis.js';

/** The result of one request. Records stay here: evidence contains only their number. */
export interface Reply {
  readonly evidence: Exchange;
  /**
   * `rows`: a list of records, possibly empty. `single`: a record without a list around it. `none`: an empty answer with status 200 or 204, or `{}`
   * or `null`. `refused`: a 3xx or 4xx status. `strange`: another answer. `failed`: no answer, or one that a retry may fix. `unasked`: the request
   * was not sent.
   */
  readonly kind: 'rows' | 'single' | 'none' | 'refused' | 'strange' | 'failed' | 'unasked';
  readonly records: readonly JsonRecord[];
  /** Milliseconds that the service asks to wait. */
  readonly retryAfterMs?: number | undefined;
  /** Position of the next page, in a list without page numbers. */
  readonly next?: Position | undefined;
  /** What to declare as the end of the list, for this answer to count as a list without rows. */
  readonly endForm?: EndForm | undefined;
}

/** Classifies an answer of any status. */
export function replyOf(request: string, answer: Answer, ms: number): Reply {
  const { status } = answer;
  const told = (kind: Reply['kind'], what: string, records: readonly JsonRecord[] = []): Reply => {
    return { kind, records, evidence: { request, status, answer: what, ms } };
  };
  if (isPassing(status)) return { ...told('failed', `${shapeOf(answer)}${waitOf(answer)}`), retryAfterMs: answer.retryAfterMs };
  if (status >= 300) return told('refused', status < 400 ? 'a redirect, which is never followed' : shapeOf(answer));
  if (status !== 200 && status !== 204) return told('strange', shapeOf(answer));
  if (answer.body.length === 0) return told('none', 'no body');
  const records = listIn(answer);
  if (records) return told('rows', amountOf(records.length, 'row'), records);
  const [only, other] = singleIn(answer);
  if (only && !other) return told('single', 'an object', [only]);
  const shape = shapeOf(answer);
  return told(shape === 'null' || shape === 'an empty object' ? 'none' : 'strange', shape);
}

function waitOf({ retryAfterMs = 0 }: Answer): string {
  return retryAfterMs > 0 ? `; Retry-After: ${Math.ceil(retryAfterMs / 1000)} s` : '';
}

/**
 * Classifies an answer for a declared list: rows, or the declared form of no rows.
 *
 * @param read Reads the answer as a run does.
 */
export function declaredReplyOf(
  request: string,
  answer: Answer,
  ms: number,
  served: Served,
  read: () => { readonly records: readonly JsonRecord[]; readonly next: Position | undefined },
): Reply {
  const { status } = answer;
  const isNone = status === 404 && served.ends.includes('not_found');
  if (status !== 200 && status !== 204 && !isNone) {
    const reply = replyOf(request, answer, ms);
    return status === 404 ? { ...reply, endForm: 'not_found' } : reply;
  }
  try {
    const { records, next } = read();
    const rows = amountOf(records.length, 'row');
    const told = isSequential(served) ? `${rows}, ${next ? 'and a next page' : 'and no next page'}` : rows;
    return { kind: 'rows', records, next, evidence: { request, status, answer: told, ms } };
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    const told = error.message.replace(`${request}: `, '').replace(/^HTTP \d+ with \d+ bytes: /, '');
    return { kind: 'strange', records: [], endForm: endFormOf(answer, served), evidence: { request, status, answer: told, ms } };
  }
}

/** Classifies a missing answer. */
export function failureOf(request: string, failure: SourceError, ms: number): Reply {
  // The message starts with the request.
  const answer = failure.message.replace(request, '').replace(/^: /, '');
  const kind = failure.status === undefined && failure.code !== 'E_SOURCE_LIMIT' ? 'failed' : 'strange';
  return { kind, records: [], evidence: { request, status: failure.status, answer, ms } };
}

/** Whether an answer is neither rows nor one of the forms of no rows. */
export function isFailure({ kind, evidence: { status } }: Reply): boolean {
  return kind !== 'rows' && kind !== 'none' && status !== 404;
}

/** Whether the service reports overload, or asks to wait. */
export function isRefusal({ kind, retryAfterMs, evidence: { status } }: Reply): boolean {
  return kind === 'failed' && (status === 429 || retryAfterMs !== undefined);
}

/** Whether a status may go away with a retry. */
export function isPassing(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

function listIn(answer: Answer): readonly JsonRecord[] | undefined {
  try {
    return readList('', answer);
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}

function singleIn(answer: Answer): readonly JsonRecord[] {
  try {
    return readSingle('', answer);
  } catch (error) {
    if (error instanceof SourceError) return [];
    throw error;
  }
}

/** Describes the kind of an answer, with the names of its first keys and none of its values. */
function shapeOf({ body }: Answer): string {
  if (body.length === 0) return 'no body';
  const value = readJson(body);
  if (value === undefined)
    return /^\s*<(?:!doctype|html|head|body|\?xml)/i.test(Buffer.from(body.subarray(0, 200)).toString('latin1')) ? 'HTML' : 'not JSON';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  const shape = nameShape(value as Exclude<typeof value, readonly unknown[]>);
  return shape === 'an object' && Object.keys(value ?? {}).length === 0 ? 'an empty object' : shape;
}
