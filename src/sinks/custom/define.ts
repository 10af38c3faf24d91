import { outputColumn, SinkError, warnProcess } from '../../core/index.js';
import { checkedOptions, extended, extensionConfig, extensionOf, extensionProblem, oneOf, takesTyped } from '../../options/index.js';
import { standaloneSink } from '../context.js';
import type { SinkDefinition, SinkWriter } from '../sink.js';
import type { AnySink, CustomSink, SinkDeclaration } from './declaration.js';
import { openCustom, rehearseCustom } from './writer.js';

/**
 * Defines a custom sink, for `writeTo` and for pipeline files.
 *
 * @param name Name in pipeline files; made of a-z, 0-9 and `_`.
 * @returns A function that opens the sink. `loadPipeline(file, { sinks: [it] })` and `leadstream run --plugin` accept it, too.
 * @throws {SinkError} `E_SINK_CONFIG`, synchronously, for an invalid declaration.
 *
 * @example
 * const table = defineSink('table', {
 *   options: z.object({ name: z.string() }),
 *   async open({ name }) {
 *     await db.query('BEGIN');
 *     return {
 *       write: (rows) => db.insert(name, rows),
 *       commit: () => db.query('COMMIT'),
 *       abort: () => db.query('ROLLBACK'),
 *     };
 *   },
 * });
 * await writeTo(service.leads, table({ name: 'leads' })); // in a file: - table: { name: leads }
 */
export function defineSink<O = undefined, I = O, const T extends 'text' | 'typed' = 'text'>(
  name: string,
  declaration: SinkDeclaration<I, O, T>,
): CustomSink<I> {
  const problem = extensionProblem(name, declaration, { types: oneOf(['text', 'typed']) });
  if (problem !== undefined) throw new SinkError('E_SINK_CONFIG', `defineSink: ${problem}`);
  // Only the declaration needs the types of options and rows.
  const sink = declaration as unknown as AnySink;
  return extended('sink', name, declaration, (options?: unknown): Promise<SinkWriter> => openInCode(name, sink, options));
}

/** Returns the definition of a custom sink for pipeline files; `undefined` for anything else. */
export function customSinkOf(value: unknown): SinkDefinition | undefined {
  const extension = extensionOf(value);
  if (extension?.kind !== 'sink') return undefined;
  const { name } = extension;
  // Checked by `defineSink`, of this copy of leadstream or another one.
  const sink = extension.declaration as AnySink;
  const { summary = 'A sink of a plug-in.', version = '', types = 'text' } = sink;
  return {
    ...{ name, summary, examples: [], version },
    takesTyped: takesTyped(sink.options),
    config: () => extensionConfig(sink.options),
    output: () => undefined,
    writes: (_, columns) => columns.map((column) => outputColumn(column, { naming: 'snake_case', types })),
    open: (options, context) => openCustom(sink, options, context),
    rehearse: (_, context) => Promise.resolve(rehearseCustom(sink, context)),
  };
}

async function openInCode(name: string, sink: AnySink, options: unknown): Promise<SinkWriter> {
  const checked = checkedOptions(sink.options, options, false);
  if ('value' in checked) return openCustom(sink, checked.value, standaloneSink(name, { warn: warnProcess }));
  throw new SinkError('E_SINK_CONFIG', `${name}: ${checked.problems.map(({ message }) => message).join('; ')}`);
}
