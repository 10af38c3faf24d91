/** Types of watching; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import { connect, runPipeline, watch } from '../../src/index.js';
import type { MomentEvent, OperationEvent, Pipeline, Watchers, WriteOptions } from '../../src/index.js';

declare const pipeline: Pipeline;
declare const page: MomentEvent<'page'>;
declare const request: OperationEvent<'request'>;

// every event says whose it is
expectTypeOf<MomentEvent<'retry' | 'page' | 'step' | 'warning'>>().toExtend<{ readonly run: string }>();
expectTypeOf<OperationEvent<'run' | 'read' | 'request' | 'write' | 'finish' | 'commit'>>().toExtend<{ readonly run: string }>();
// @ts-expect-error An event is read-only.
page.rows = 0;

// what an operation has done is known at its end
expectTypeOf(request.attempt).toEqualTypeOf<number>();
expectTypeOf(request.status).toEqualTypeOf<number | undefined>();
expectTypeOf(request.aborted).toEqualTypeOf<true | undefined>();

// watchers, one or several, wherever something runs
void runPipeline(pipeline, { watch: { page: ({ read }) => console.error(read) } });
void runPipeline(pipeline, { watch: [{ retry: () => {} }, { request: { asyncEnd: ({ bytes }) => console.error(bytes) } }] });
expectTypeOf(connect).parameter(0).toHaveProperty('watch').extract<object>().toEqualTypeOf<Watchers>();
expectTypeOf<WriteOptions>().toHaveProperty('watch').extract<object>().toEqualTypeOf<Watchers>();
expectTypeOf(watch).returns.toEqualTypeOf<() => void>();
// @ts-expect-error There is no such event.
watch({ pages: () => {} });
// @ts-expect-error An operation has phases.
watch({ request: () => {} });
// @ts-expect-error The end of the synchronous part is nobody's business.
watch({ request: { end: () => {} } });
// @ts-expect-error Nothing but `watch`.
void runPipeline(pipeline, { onProgress: () => {} });
