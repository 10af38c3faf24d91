import type { z } from 'zod';
import { schema } from '../../core/index.js';
import type { Responder, View } from '../answer.js';
import { oneOf, readOptions, readTerms, share, whole } from '../options.js';
import { plainPaging, type Paging } from '../paging.js';
import { areacodePath, bareRecord, emptyPage, notFound } from './answers.js';
import { oddRows } from './odd-rows.js';
import { unstableOrder } from './unstable-order.js';

const quirksSchema = schema((z) => {
  const flag = z.boolean('takes no value');
  const emptyPages = z.custom<number | `${number}:once`>((value) => /^\d+(:once)?$/.test(String(value)), 'needs a page, like 3, or 3:once');
  return z
    .strictObject({
      'first-page': whole(0).describe('Number of the first page, for example 0'),
      'default-limit': whole(1).describe('Rows per page when the request has no limit'),
      cap: whole(1).describe('Maximum rows per page; a larger limit is reduced to it'),
      'refuse-over-cap': flag.describe('A limit over the cap is answered with 400'),
      'repeat-last': flag.describe('Pages past the end repeat the last page'),
      'ignore-page': flag.describe('Every page is the first one'),
      'empty-page': emptyPages.describe('This page of paged lists is [], always or (3:once) only the first time it is requested'),
      'paged-links': flag.describe('The list of links is paged like the others'),
      'bare-record': flag.describe('A single record is an object, not an array of one'),
      'not-found': oneOf(['404', 'object', 'null', 'nothing']).describe(
        'Response to an identifier that matches nothing: 404, {}, null or no body',
      ),
      'areacode-path': oneOf(['singular', 'plural']).describe('Only /api/areacode or only /api/areacodes; the other is 404'),
      'missing-fields': share().describe('Share of rows that lack one field; never a key field'),
      'unknown-fields': share().describe('Share of rows with an undocumented field'),
      'non-strings': share().describe('Share of rows in which one value is a number, a flag, null, a list or an object; never a key field'),
      'huge-values': share().describe('Share of rows with a value of 1 MB'),
      'proto-key': share().describe('Share of rows with a key __proto__ whose value is an object'),
      'unstable-order': whole(2).describe('This many adjacent rows share a sort key and change places between requests'),
    })
    .partial();
});

/**
 * Ways in which another service could interpret the same documentation: every point that it leaves open. See `quirkNames`.
 *
 * @example
 * await startService({ source, accounts, quirks: { cap: 100, 'repeat-last': true } });
 */
export type Quirks = z.input<ReturnType<typeof quirksSchema>>;

/** Returns every quirk with its description. */
export function quirkNames(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(quirksSchema().shape).map(([name, quirk]) => [name, quirk.unwrap().description ?? '']));
}

/** What quirks change: the paging, the responders around an answer, and what a request sees of the data. */
export interface QuirkEffects {
  readonly paging: Paging;
  readonly responders: readonly Responder[];
  readonly see: (view: View) => View;
}

/**
 * Reads quirks, from options or from `NAME` and `NAME=VALUE`.
 *
 * @param seed Determines which rows are odd and how their order changes.
 * @throws {LeadstreamError} `E_USAGE` for an unknown quirk, or a value that it does not take.
 */
export function quirkEffects(given: Quirks | readonly string[], seed: number): QuirkEffects {
  const quirks = readOptions('quirk', quirksSchema(), isList(given) ? readTerms('quirk', given) : given);
  const responders: (Responder | undefined)[] = [
    quirks['areacode-path'] && areacodePath(quirks['areacode-path']),
    quirks['empty-page'] === undefined ? undefined : emptyPage(String(quirks['empty-page'])),
    quirks['not-found'] && notFound(quirks['not-found']),
    quirks['bare-record'] ? bareRecord : undefined,
    oddRows(quirks, seed),
  ];
  const group = quirks['unstable-order'];
  return {
    paging: {
      firstPage: quirks['first-page'] ?? plainPaging.firstPage,
      defaultLimit: quirks['default-limit'] ?? plainPaging.defaultLimit,
      cap: quirks.cap ?? plainPaging.cap,
      refuseOverCap: quirks['refuse-over-cap'] ?? false,
      repeatLast: quirks['repeat-last'] ?? false,
      ignorePage: quirks['ignore-page'] ?? false,
      pageAll: quirks['paged-links'] ?? false,
    },
    responders: responders.filter((responder) => responder !== undefined),
    see: (view) => (group === undefined ? view : unstableOrder(view, group, seed)),
  };
}

function isList(given: Quirks | readonly string[]): given is readonly string[] {
  return Array.isArray(given);
}
