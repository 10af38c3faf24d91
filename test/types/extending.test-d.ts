/** Types of steps and sinks of a program's own; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import { z } from 'zod';
import { defineSink, defineStep, extensionsOf, loadPipeline, writeTo } from '../../src/index.js';
import type { Extensions, Lead, Row, RowStream, Service, SinkWriter } from '../../src/index.js';

declare const service: Service;

// The columns that a step adds and removes, with their types
const inEuro = defineStep('in_euro', {
  options: z.object({ rate: z.coerce.number(), field: z.string().default('age') }),
  needs: ({ field }) => {
    expectTypeOf(field).toEqualTypeOf<string>();
    return [field];
  },
  adds: { euro: 'decimal', day: { type: 'date', sensitivity: 'plain' }, age: 'integer' },
  removes: ['email'],
  open: ({ rate }, { at }) => {
    expectTypeOf(rate).toEqualTypeOf<number>();
    expectTypeOf(at).toEqualTypeOf<string>();
    return (row) => {
      expectTypeOf(row).toEqualTypeOf<Row>();
      return { ...row, euro: 1 };
    };
  },
});
expectTypeOf(service.leads.pipe(inEuro({ rate: 1 }))).toEqualTypeOf<
  RowStream<
    Omit<Lead, 'euro' | 'day' | 'age' | 'email'> & { readonly euro: number | null; readonly day: Date | null; readonly age: bigint | null }
  >
>();
// @ts-expect-error Options are those of the schema.
inEuro({ field: 'age' });
// @ts-expect-error It has options.
inEuro();
// @ts-expect-error No declared type.
defineStep('x', { adds: { a: 'number' }, open: () => (row) => row });
// @ts-expect-error A step does not wait.
defineStep('x', { open: () => (row) => Promise.resolve(row) });
// @ts-expect-error Its open gives a function.
defineStep('x', { open: () => undefined });

// Without options
const kept = defineStep('kept', { rows: 'fewer', open: () => (row) => (row.lead_id === null ? null : row) });
expectTypeOf(service.leads.pipe(kept())).toEqualTypeOf<RowStream<Lead>>();
// @ts-expect-error It has none.
kept({ a: 1 });

// Columns whose names are known only when it runs
const named = defineStep('named', {
  options: z.string(),
  adds: (name): Record<string, 'text'> => ({ [name]: 'text' }),
  open: (name) => (row) => ({ ...row, [name]: 'x' }),
});
expectTypeOf(service.leads.pipe(named('a'))).toEqualTypeOf<RowStream<Row>>();

// A sink gets texts, or what it asks for
const table = defineSink('table', {
  options: z.object({ name: z.string() }),
  open: ({ name }, { signal }) => {
    expectTypeOf(name).toEqualTypeOf<string>();
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    return {
      write: (rows, { number }) => {
        expectTypeOf(rows).toEqualTypeOf<readonly Readonly<Record<string, string | null>>[]>();
        expectTypeOf(number).toEqualTypeOf<number>();
      },
      commit: ({ rows, partial }) => {
        expectTypeOf(rows).toEqualTypeOf<number>();
        expectTypeOf(partial).toEqualTypeOf<boolean>();
      },
      abort: () => {},
    };
  },
});
expectTypeOf(table({ name: 'a' })).toEqualTypeOf<Promise<SinkWriter>>();
void writeTo(service.leads, table({ name: 'a' }));
// @ts-expect-error Options are those of the schema.
void table({ nmae: 'a' });
void defineSink('typed', {
  types: 'typed',
  open: () => ({ write: (rows) => expectTypeOf(rows).toEqualTypeOf<readonly Row[]>(), commit: () => {}, abort: () => {} }),
})();
// @ts-expect-error A sink that cannot take back is none.
defineSink('x', { open: () => ({ write: () => {}, commit: () => {} }) });

// Files take them
expectTypeOf(extensionsOf({ inEuro, table })).toEqualTypeOf<Extensions>();
// @ts-expect-error No module.
extensionsOf('./mine.mjs');
void loadPipeline('leads.yaml', { steps: [inEuro, kept], sinks: [table] });
// @ts-expect-error A sink is no step.
void loadPipeline('leads.yaml', { steps: [table] });
