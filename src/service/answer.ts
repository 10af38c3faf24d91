import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { CollectionName } from '../collections/index.js';
import { LeadstreamError } from '../core/index.js';

/** The rows of a collection in a fixed order, each as the JSON text of an object. */
export interface ServedTable {
  readonly count: number;
  /** The row at a 0-based position below `count`. */
  row(index: number): string;
  /** Ascending positions of the rows with this identifier; empty if none has it. */
  find(id: string): readonly number[];
}

/** What the service serves: a table per collection, by name, also for declared collections. */
export type DataSource = { readonly [N in CollectionName]: ServedTable } & Readonly<Record<string, ServedTable>>;

/** A request for a collection, without credentials. */
export interface RequestFacts {
  readonly collection: string;
  readonly path: string;
  /** The identifier at the end of the path; `null` for the list. */
  readonly id: string | null;
  /** As requested; by default the first page, `NaN` if not a whole number. */
  readonly page: number;
  /** As requested, before the cap; by default 30, `NaN` if not a whole number. */
  readonly limit: number;
  /** `probe` if the header `x-leadstream-purpose` says so: a second read for checking, not for rows. */
  readonly purpose: 'page' | 'probe';
  readonly query: Readonly<Record<string, string>>;
  /** Number of the request by arrival, from 1, over all collections. */
  readonly sequence: number;
}

/** JSON texts of rows that are sent as a list, with status 200. */
export interface RowsAnswer {
  readonly kind: 'rows';
  readonly rows: Iterable<string>;
  /** Names of the objects around the list, outermost first. Default: none. */
  readonly within?: readonly string[];
}

export interface RawAnswer {
  readonly kind: 'raw';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** An answer that writes to the connection itself, for what HTTP cannot express. */
export interface WireAnswer {
  readonly kind: 'wire';
  /** For `onRequest`; 0 if no status is sent. */
  readonly status: number;
  readonly send: (response: ServerResponse) => void;
}

/** The answer to a request. */
export type Answer = RowsAnswer | RawAnswer | WireAnswer;

/** Computes the answer to a request. */
export type Answerer = (facts: RequestFacts) => Answer | Promise<Answer>;

/**
 * Handles a request before it is answered: it may change it or its answer, wait, or answer by itself. Faults are responders.
 *
 * @example
 * const ignoresPage: Responder = (facts, next) => next({ ...facts, page: 1 });
 */
export type Responder = (facts: RequestFacts, next: Answerer) => Answer | Promise<Answer>;

export const json = { 'content-type': 'application/json' } as const;

/** Returns a refusal with the JSON body `{"error":"…"}`. */
export function failure(status: number, error: string, headers: Readonly<Record<string, string>> = {}): RawAnswer {
  return { kind: 'raw', status, headers: { ...json, ...headers }, body: JSON.stringify({ error }) };
}

export function bodyOf({ rows, within = [] }: RowsAnswer): Buffer {
  const list = `[${[...rows].join(',')}]`;
  return Buffer.from(within.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, list));
}

/**
 * A fault of the service: `KIND[=VALUE][@TERM[,TERM …]]`, for requests that meet every term.
 *
 * - kinds: `503` (any status from 400 to 599), `503=2` (with a Retry-After of two seconds), `delay=100` (ms), `cut` (half of the body), `empty` (`[]`)
 * - terms: `page=3`, `page=3-5`, `page=3-`, `collection=leads`, `times=2` (the first two occurrences of the same request)
 *
 * The first of several is outermost: the others do not see a request that it answers.
 *
 * @example
 * const faults: FaultSpec[] = ['503=1@page=3,times=2', 'delay=100@collection=users'];
 */
export type FaultSpec = string;

const faultForm =
  'a fault is a status from 400 to 599, like 503 or 503=SECONDS, or delay=MS, cut or empty, and @ with page=3-5, collection=NAME, times=N, like 503@page=3,times=2';

/** Kinds of faults and their conditions, by name; each is made of its value, or refuses it by `undefined`. */
export interface FaultGrammar {
  readonly kinds: Readonly<Record<string, (value: string) => Responder | undefined>>;
  readonly terms: Readonly<Record<string, (value: string) => ((facts: RequestFacts) => boolean) | undefined>>;
}

export const faultGrammar: FaultGrammar = {
  kinds: {
    delay: (value) => {
      const ms = wholeNumber(value);
      if (ms === undefined) return undefined;
      return async (facts, next) => {
        await wait(ms, undefined, { ref: false });
        return next(facts);
      };
    },
    cut: (value) => (value === '' ? cut : undefined),
    empty: (value) => (value === '' ? () => ({ kind: 'rows', rows: [] }) : undefined),
  },
  terms: {
    page: (value) => {
      const [, from, to] = /^(\d+)(-\d*)?$/.exec(value) ?? [];
      if (from === undefined) return undefined;
      const last = to === undefined ? Number(from) : to === '-' ? Infinity : Number(to.slice(1));
      return ({ id, page }) => id === null && page >= Number(from) && page <= last;
    },
    collection: (value) => (value === '' ? undefined : ({ collection }) => collection === value),
    times: (value) => {
      const times = wholeNumber(value);
      const seen = new Map<string, number>();
      if (times === undefined) return undefined;
      return ({ collection, id, page, limit }) => {
        const request = JSON.stringify([collection, id, page, limit]);
        const time = (seen.get(request) ?? 0) + 1;
        seen.set(request, time);
        return time <= times;
      };
    },
  },
};

/**
 * Returns whether a text is a fault of the service.
 *
 * @example
 * isFault('503@pages=1'); // false: the term is `page`
 */
export function isFault(spec: string): boolean {
  return openFault(spec, faultGrammar) !== undefined;
}

/** @throws {LeadstreamError} `E_USAGE` for anything but a fault. */
export function faultResponder(spec: FaultSpec, grammar = faultGrammar): Responder {
  const responder = openFault(spec, grammar);
  if (responder === undefined) throw new LeadstreamError('E_USAGE', `fault ${spec}: ${faultForm}`);
  return responder;
}

function openFault(spec: string, { kinds, terms }: FaultGrammar): Responder | undefined {
  const [, kind = '', value = '', conditions] = /^([^=@]*)(?:=([^@]*))?(?:@(.*))?$/.exec(spec) ?? [];
  const respond = /^[45]\d\d$/.test(kind) ? statusFault(Number(kind), value) : own(kinds, kind)?.(value);
  // Counting comes last: only requests that meet the other terms count.
  const given = (conditions?.split(',') ?? []).sort((a, b) => Number(a.startsWith('times=')) - Number(b.startsWith('times=')));
  const meets = given.map((condition) => {
    const [term = '', of = ''] = condition.split('=');
    return own(terms, term)?.(of);
  });
  if (respond === undefined || meets.includes(undefined)) return undefined;
  return (facts, next) => (meets.every((is) => is?.(facts)) ? respond(facts, next) : next(facts));
}

function own<T>(entries: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}

function statusFault(status: number, retryAfter: string): Responder | undefined {
  if (retryAfter !== '' && wholeNumber(retryAfter) === undefined) return undefined;
  return () => failure(status, 'injected fault', retryAfter === '' ? {} : { 'retry-after': retryAfter });
}

const cut: Responder = async (facts, next) => {
  const answer = await next(facts);
  if (answer.kind !== 'rows') return answer;
  const body = bodyOf(answer);
  return {
    kind: 'wire',
    status: 200,
    send: (response) => {
      response.writeHead(200, { ...json, 'content-length': body.length });
      response.write(body.subarray(0, Math.ceil(body.length / 2)), () => response.destroy());
    },
  };
};

function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
