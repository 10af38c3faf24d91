/** The type of `expect`; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import type { Expect } from '../../src/pipelines.js';

// A pipeline has its gates with the values that their schemas give
expectTypeOf<Expect['min_rows']>().toEqualTypeOf<number | undefined>();
expectTypeOf<Expect['unique']>().toEqualTypeOf<(string | string[])[] | undefined>();
// @ts-expect-error There is no such gate.
({ colour: 'red' }) satisfies Expect;
