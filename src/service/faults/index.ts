import type { Responder } from '../answer.js';
import { readOptions, readTerms } from '../options.js';
import { openKind } from './kinds.js';
import { meets, whenSchema } from './when.js';

export { faultKinds } from './kinds.js';

/**
 * One fault of the service: `KIND[=VALUE][@TERM[,TERM …]]`.
 *
 * The kinds are those of `faultKinds`. A fault applies to requests that meet every term; without a term, to every request:
 *
 * - `page=3`, `page=3-5`, `page=3-`: list requests for these pages
 * - `requests=5-7`: these requests, counted over the whole service from 1
 * - `rate=0.1`: this share of the requests, chosen by the seed
 * - `times=2`: the first two occurrences of the same request (collection, identifier, page, limit)
 * - `collection=leads`, `purpose=page`, `purpose=probe`: only these
 *
 * If there are several faults, the first is outermost: the others never see a request that it answers, so that `503@page=3,times=1` and `html@page=3,times=1`
 * are 503, then HTML, then the page. `delay`, `gzip`, `drip`, `cut` and `stall` pass on the answer of the faults inside them.
 *
 * @example
 * const faults: FaultSpec[] = ['503=1@page=3,times=2', 'hang@rate=0.02', '429=date+2@requests=5-7'];
 */
export type FaultSpec = string;

/**
 * Creates the responder of each fault.
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
