import { amountOf } from '../../core/index.js';
import type { Explanation } from '../../index.js';
import { command, loadOptionsOf, named, pipelineFile, pipelineOptions, repeated, textOrJson } from '../command.js';
import { printTo } from '../console.js';

export const explain = command(
  'explain <file>',
  'Show what a run would request, do and write, without sending a request',
  (yargs) =>
    pipelineOptions(yargs)
      .positional('file', pipelineFile)
      .option('format', { ...textOrJson, describe: 'A tree for people, or JSON' })
      .option('only', { ...repeated, describe: 'Name of a pipeline, if the file has several' })
      .example('$0 explain leads.yaml', 'requests, columns and files')
      .example('$0 explain leads.yaml --format json', 'the same with the columns after each step'),
  async (arguments_, context) => {
    const { explainPipeline, loadPipelines } = await import('../../index.js');
    const { file, format, only } = arguments_;
    const pipelines = named(await loadPipelines(file, await loadOptionsOf(arguments_, context)), only).map(explainPipeline);
    const text = format === 'json' ? `${JSON.stringify({ pipelines }, undefined, 2)}\n` : pipelines.map(treeOf).join('\n');
    await printTo(context.stdout, context.console.redact(text));
    return 0;
  },
);

type Branch = readonly string[];

function treeOf({ pipeline, source, steps, sinks, rejects, alone, oneMachine: why, together }: Explanation): string {
  const then = together.length === 0 ? [] : [together.join(', ')];
  const branches: readonly Branch[] = [
    [
      `from ${source.collection}`,
      ...requestOf(source),
      ...(source.part === undefined ? [] : [source.part]),
      `${amountOf(source.columns.length, 'column')}: ${listOf(source.columns)}`,
    ],
    ...steps.map(branchOf),
    ...sinks.map(sinkBranch),
    ['rejects', `${rejects.path ?? 'counted only, no file'}, at most ${rejects.max}`],
    ['machines', why === undefined ? 'any number, by plan, shard and commit' : `one: ${why}`],
    ...(alone.length === 0 || alone.length + together.length === 1
      ? []
      : [['commit', [`each by itself: ${alone.join(', then ')}`, ...then].join('; then together: ')]]),
  ];
  const lines = branches.flatMap(([title, ...notes], index) => {
    const last = index === branches.length - 1;
    return [`${last ? '└─' : '├─'} ${title}`, ...notes.map((line) => `${last ? '  ' : '│ '}   ${line}`)];
  });
  return `${[pipeline, ...lines].join('\n')}\n`;
}

function requestOf({ request, headers, key }: Omit<Explanation['source'], 'columns' | 'part'>): readonly string[] {
  return [[request, ...headers].join(', '), ...(key.length === 0 ? [] : [`key: ${key.join(' + ')}`])];
}

function branchOf({ at, reads, blocking, added, dropped, columns }: Explanation['steps'][number]): Branch {
  const fresh = columns.filter(({ name }) => added.includes(name));
  const changes = [...fresh.map((column) => `+${listOf([column])}`), ...dropped.map((name) => `-${name}`)];
  return [
    reads?.collection.includes('.') ? `${at} ${reads.collection}` : at,
    ...(reads ? requestOf(reads) : []),
    ...(blocking ? ['takes all rows before it returns the first'] : []),
    `${amountOf(columns.length, 'column')}${changes.length === 0 ? '' : `: ${changes.join(', ')}`}`,
  ];
}

function sinkBranch({ at, prints, path, where, adds, folders, columns }: Explanation['sinks'][number]): Branch {
  const isText = columns.every(({ type }) => type === 'text');
  const names = columns.map(({ name, type }) => (isText ? name : `${name} ${type}`)).join(', ');
  return [
    at,
    `${path ?? (prints ? 'standard output' : 'a destination of its own, committed when all is complete')}${adds ? ', added to the existing rows' : ''}`,
    ...(where === undefined ? [] : [`only rows where ${where.replaceAll(/\s+/g, ' ')}`]),
    `${amountOf(columns.length, 'column')}${isText ? ' of text' : ''}: ${names}`,
    ...(folders.length === 0 ? [] : [`folders by the values of ${folders.join(', ')}, which are not in the files`]),
  ];
}

function listOf(columns: Explanation['source']['columns']): string {
  return columns.map(({ name, type, sensitivity }) => `${name} ${type}${sensitivity === 'plain' ? '' : ` (${sensitivity})`}`).join(', ');
}
