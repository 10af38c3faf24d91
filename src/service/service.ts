import { respondThrough, type Answerer, type Responder } from './answer.js';
import { drifting, still, type Drift, type DriftOptions } from './drift/index.js';
import { faultResponders, type FaultSpec } from './faults/index.js';
import { answerFrom, type Paging } from './paging.js';
import { quirkEffects, type Quirks } from './quirks/index.js';
import type { DataSource } from './source.js';

/** What the service serves, and how it differs from an honest and quiet one. */
export interface ServiceOptions {
  readonly source: DataSource;
  /** Other readings of the service's documentation; also in the form of the command line: `['cap=100', 'bare-record']`. */
  readonly quirks?: Quirks | readonly string[];
  /** Faults, the first one outermost. */
  readonly faults?: readonly FaultSpec[];
  /** How the lists change while they are read; also as `every=10,changes=delete`. */
  readonly drift?: DriftOptions | string | undefined;
  /** Determines the random choices of quirks, faults and drift; 1 by default. */
  readonly seed?: number;
  /** Wrapped around all of these, the first one outermost; none by default. */
  readonly responders?: readonly Responder[];
}

/** A service without HTTP. */
export interface Service {
  readonly answer: Answerer;
  readonly paging: Paging;
  readonly drift: Drift;
}

/**
 * Builds the answers of the service from the inside out: drifting data, its order, its pages, quirks, faults.
 *
 * @throws {LeadstreamError} `E_USAGE` for an invalid quirk, fault or drift.
 */
export function createService({ source, quirks = {}, faults = [], drift: options, seed = 1, responders = [] }: ServiceOptions): Service {
  const { view, drift } = options === undefined ? still(source) : drifting(source, options, seed);
  const effects = quirkEffects(quirks, seed);
  const around = [...responders, ...faultResponders(faults, seed), ...effects.responders];
  return { answer: respondThrough(around, answerFrom(effects.see(view), effects.paging)), paging: effects.paging, drift };
}
