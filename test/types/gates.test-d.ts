/** What a gate of `expect` says of itself; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import type { Expect } from '../../src/pipelines.js';
import type { Check, GateFacts } from '../../src/plan/expect/gate.js';

const check: Check = { gate: 'max_rows', observe: () => {}, refuse: () => undefined };
const open = () => [check];

({ judges: 'rows', holds: undefined, columns: [], open }) satisfies GateFacts;
({ judges: 'outputs', overridable: false, refuse: () => undefined }) satisfies GateFacts;
// @ts-expect-error Nothing says what it holds in memory.
({ judges: 'rows', columns: [], open }) satisfies GateFacts;
// @ts-expect-error Nothing says whether it can be overridden.
({ judges: 'outputs', refuse: () => undefined }) satisfies GateFacts;

// A pipeline has its gates with the values that their schemas give
expectTypeOf<Expect['min_rows']>().toEqualTypeOf<number | undefined>();
expectTypeOf<Expect['unique']>().toEqualTypeOf<(string | string[])[] | undefined>();
// @ts-expect-error There is no such gate.
({ colour: 'red' }) satisfies Expect;
