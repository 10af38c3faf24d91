/**
 * Spans for OpenTelemetry: one for each run, read, request, write and commit. Those of a run are children of its span.
 *
 *   import { context, trace } from '@opentelemetry/api';
 *   const end = exportSpans(trace.getTracer('leadstream'), (span) => trace.setSpan(context.active(), span));
 */
import { watch, type Watcher } from 'leadstream';

/** The parts of `@opentelemetry/api` used here, under the same names. In a real program, import them from there. */
export interface Span {
  setAttributes(attributes: Attributes): this;
  setStatus(status: { code: number; message?: string }): this;
  addEvent(name: string, attributes?: Attributes): this;
  end(): void;
}
export interface Tracer {
  startSpan(name: string, options: { attributes: Attributes }, context?: object): Span;
}
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Creates spans from the events of leadstream. `within` returns the context of a span: `(span) => trace.setSpan(context.active(), span)`. */
export function exportSpans(tracer: Tracer, within: (span: Span) => object): () => void {
  const spans = new WeakMap<object, Span>();
  const runs = new Map<string, Span>();
  const operation = (name: string) => ({
    start: (event: { run: string }) => {
      const parent = runs.get(event.run);
      const span = tracer.startSpan(`leadstream ${name}`, { attributes: attributesOf(event) }, parent && within(parent));
      spans.set(event, span);
      if (name === 'run') runs.set(event.run, span);
    },
    asyncEnd: (event: { run: string; error?: { message: string } }) => {
      const span = spans.get(event)?.setAttributes(attributesOf(event));
      if (event.error) span?.setStatus({ code: 2, message: event.error.message });
      span?.end();
      if (name === 'run') runs.delete(event.run);
    },
  });
  const names = ['run', 'read', 'request', 'write', 'finish', 'commit'] as const;
  const operations: Watcher = Object.fromEntries(names.map((name) => [name, operation(name)]));
  return watch({ ...operations, page: (event) => runs.get(event.run)?.addEvent('leadstream page', attributesOf(event)) });
}

const attributesOf = (event: object): Attributes =>
  Object.fromEntries(Object.entries(event).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value)));
