import type { Warning } from '../../core/index.js';
import type { OnError } from '../../flow/index.js';
import type { ConsistencyMode, ConnectOptions } from '../../source/index.js';
import type { Expect } from '../gates/expect.js';
import type { Plan } from './plan.js';
import type { RejectsPlan } from '../run/rejects.js';

/** A pipeline that was checked in full and can be run. */
export interface Pipeline {
  readonly name: string;
  readonly plan: Plan;
  readonly connection: ConnectOptions;
  /** Credential-like columns of the collection that are wanted all the same. */
  readonly reveal: readonly string[];
  readonly onError: OnError;
  readonly rejects: RejectsPlan;
  /** What has to be true of the rows. */
  readonly expect: Expect | undefined;
  /** What becomes of columns that differ from those of the last run. */
  readonly schema: 'evolve' | 'freeze';
  /** What becomes of undeclared fields that first come after page 1. */
  readonly onNewField: 'next_run' | 'restart';
  readonly consistency: { readonly mode: ConsistencyMode; readonly maxPasses: number | undefined; readonly allowUnstable: boolean };
  /** Age from which spooled pages are not used, in milliseconds; `undefined` when no pages are spooled. */
  readonly spoolMaxAgeMs: number | undefined;
  /** Longest time that a run may take, in milliseconds. */
  readonly deadlineMs: number | undefined;
  /** Key of `mask: hmac`, from the environment. */
  readonly hmacKey: string | undefined;
  /** Key of the HMACs in the log of runs, from the environment. */
  readonly manifestKey: string | undefined;
  /** Folder that relative paths resolve against. */
  readonly baseDir: string;
  /** SHA-256 over the specification without credentials, in hexadecimal. */
  readonly fingerprint: string;
  /** What is right in the file and probably not meant; each message begins with its place. */
  readonly warnings: readonly Warning[];
  /** Values that must never be seen. */
  readonly secrets: readonly string[];
}
