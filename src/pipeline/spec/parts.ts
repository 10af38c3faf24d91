import { defined } from '../../core/index.js';
import { getIn } from '../../options/index.js';
import { pipelineShape, type PipelineShape } from './spec.js';
import type { StandIns } from './stand-ins.js';
import { validated } from './validate.js';

/** The readable parts of a pipeline. Invalid steps and sinks are empty, so that all others keep their index. */
export type Parts = Pick<PipelineShape, 'to'> & Partial<Omit<PipelineShape, 'collections' | 'tests'>>;

/** Reads the valid parts of a document that is invalid as a whole, key by key. */
export function partsOf(document: unknown, standIns: StandIns): Parts {
  const { shape } = pipelineShape();
  const judging = { problem: () => {}, standIns };
  const read = {
    name: validated(shape.name, getIn(document, ['name']), ['name'], judging),
    from: validated(shape.from, getIn(document, ['from']), ['from'], judging),
    service: validated(shape.service, getIn(document, ['service']), ['service'], judging),
    reveal: validated(shape.reveal, getIn(document, ['reveal']), ['reveal'], judging),
    rejects: validated(shape.rejects, getIn(document, ['rejects']), ['rejects'], judging),
    expect: validated(shape.expect, getIn(document, ['expect']), ['expect'], judging),
    on_new_field: validated(shape.on_new_field, getIn(document, ['on_new_field']), ['on_new_field'], judging),
    schema: validated(shape.schema, getIn(document, ['schema']), ['schema'], judging),
    on_success: validated(shape.on_success, getIn(document, ['on_success']), ['on_success'], judging),
    on_failure: validated(shape.on_failure, getIn(document, ['on_failure']), ['on_failure'], judging),
  };
  return { ...defined(read), steps: entriesOf(getIn(document, ['steps'])), to: entriesOf(getIn(document, ['to'])) };
}

function entriesOf(value: unknown): Record<string, unknown>[] {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  return entries.map((entry) => (typeof entry === 'object' && entry !== null && !Array.isArray(entry) ? { ...entry } : {}));
}
