import type { Responder } from '../answer.js';
import { readOptions, readTerms } from '../options.js';
import { openKind } from './kinds.js';
import { meets, whenSchema } from './when.js';

export { faultKinds } from './kinds.js';

/**
 * One fault of the service: `KIND[=VALUE][@TERM[,TERM …]]`.
 *
 * The kinds are those of `faultKinds`. A request that meets every term is answered so; without a term, every request:
 *
 * - `page=3`, `page=3-5`, `page=3-`: list requests of these pages
 * - `requests=5-7`: these requests, counted over the whole service from 1 on
 * - `rate=0.1`: this share of the requests, by the seed
 * - `times=2`: the first two times that the same request (collection, identifier, page, limit) comes by
 * - `collection=leads`, `purpose=page`, `purpose=probe`: only these
 *
 * Of several faults the first one stands outermost: what it answers the others never see, so that
 * `503@page=3,times=1` and `html@page=3,times=1` are 503, then HTML, then the page. `delay`, `gzip`, `drip`, `cut` and
 * `stall` pass the answer of those behind them on.
 *
 * @example
 * const faults: FaultSpec[] = ['503=1@page=3,times=2', 'hang@rate=0.02', '429=date+2@requests=5-7'];
 */
export type FaultSpec = string;

/**
 * Makes the responder of each fault.
 *
 * @throws {LeadstreamError} `E_USAGE` for a fault that does not follow the grammar.
 */
export function faultResponders(specs: readonly FaultSpec[], seed: number): readonly Responder[] {
  return specs.map((spec, place): Responder => {
    const at = spec.includes('@') ? spec.lastIndexOf('@') : spec.length;
    const [name = '', ...value] = spec.slice(0, at).split('=');
    const terms = spec.slice(at + 1);
    const respond = openKind(name, value.length === 0 ? undefined : value.join('='));
    const what = `fault ${spec}`;
    const isMet = meets(readOptions(what, whenSchema(), terms === '' ? {} : readTerms(what, terms.split(','))), seed, place);
    return async (facts, next) => {
      if (!isMet(facts)) return next(facts);
      const answer = await respond(facts, next);
      return { ...answer, fault: answer.fault === undefined ? spec : `${spec} ${answer.fault}` };
    };
  });
}
