import { columnsOf, type Collection } from '../collections/index.js';
import { amountOf, itemAt, type Column } from '../core/index.js';
import { sentOf } from '../http/index.js';
import { firstQuery } from '../source/index.js';
import { isRemote } from '../store/index.js';
import { connectionTo, type Pipeline } from './pipeline.js';
import { whyNotSharded } from './shards.js';
import { written, writtenDuration } from './units.js';

/** The plan of a pipeline, without credentials. */
export type Explanation = ReturnType<typeof explainPipeline>;

export function explainPipeline(pipeline: Pipeline) {
  const { name, plan, rejects, together: set } = pipeline;
  const source = columnsOf(plan.collection, pipeline.reveal);
  const outputs = [
    ...(rejects.path === undefined ? [] : [{ path: rejects.path, alone: isRemote(rejects.path) }]),
    ...(set ? [{ path: `${set.folder}/{${set.tables.join()}}`, alone: true }] : []),
    ...(set ? [] : plan.sinks).flatMap(({ at, output, place = at, definition, config }) => {
      const alone = output === undefined || isRemote(output) || (definition.alone?.(config) ?? false);
      return definition.prints ? [] : [{ path: output ?? place, alone }];
    }),
  ];
  const places = [...plan.steps.map(({ input }) => input), plan.columns()];
  return {
    pipeline: name,
    source: { ...readOf(plan.collection, pipeline), part: partOf(pipeline), columns: source.map(explained) },
    steps: plan.steps.map(({ at, definition, config }, index) => {
      const [before, after] = [itemAt(places, index), itemAt(places, index + 1)];
      const side = definition.reads?.(config);
      const other = side === undefined ? undefined : plan.collections[side];
      return {
        at,
        reads: other && readOf(other, pipeline),
        blocking: definition.blocking ?? false,
        added: missingIn(before, after),
        dropped: missingIn(after, before),
        columns: after.map(explained),
      };
    }),
    sinks: plan.sinks.map(({ at, output: path, where, definition, config }) => {
      const { prints = false } = definition;
      const [adds, folders] = [definition.adds?.(config) ?? false, definition.folders?.(config) ?? []];
      const columns = definition.writes(config, plan.columns()).filter((column) => !folders.includes(column.name));
      return { at, prints, path, where, adds, folders, columns: columns.map((column) => ({ name: column.name, type: column.type })) };
    }),
    /** Why several machines cannot share a run, if they cannot. */
    oneMachine: whyNotSharded(pipeline),
    rejects: { path: rejects.path, max: 'share' in rejects.max ? written(rejects.max) : amountOf(rejects.max.rows, 'row') },
    /** Outputs that commit by themselves, in this order, before the files of this machine commit together. */
    alone: outputs.flatMap(({ path, alone }) => (alone ? [path] : [])),
    together: outputs.flatMap(({ path, alone }) => (alone ? [] : [path])),
  };
}

function partOf({ pages, since }: Pipeline): string | undefined {
  if (pages) return `only pages ${pages.text}`;
  const begin = since && `${amountOf(since.overlap, 'page')} before the end of the last read`;
  return since && `only from ${begin} on, if its rows are the same; all of it every ${writtenDuration(since.full_every)}`;
}

/** The type applies after a cast; unless `cast`, the values are still text. */
function explained({ name, type, cast, sensitivity }: Column) {
  return { name, type, cast, sensitivity };
}

function missingIn(others: readonly Column[], columns: readonly Column[]): readonly string[] {
  const known = new Set(others.map(({ name }) => name));
  return columns.flatMap(({ name }) => (known.has(name) ? [] : [name]));
}

function readOf(collection: Collection, pipeline: Pipeline) {
  const { name, key, paths } = collection;
  const connection = connectionTo(pipeline, name);
  const { baseUrl, auth } = connection;
  const path = itemAt(paths, 0);
  const query = firstQuery(collection, connection).toString();
  const sent = sentOf(auth);
  const masked = Object.keys(sent.query).map((parameter) => `${parameter}=***`);
  const all = [...(query === '' ? [] : [query]), ...masked].join('&');
  const url = `${baseUrl.replace(/\/+$/, '')}${path.startsWith('/') ? path : `/api/${path}`}${all === '' ? '' : `?${all}`}`;
  return { collection: name, request: `GET ${url}`, headers: Object.keys(sent.headers).map((header) => `${header}: ***`), key };
}
