import { collectionNames, columnsOf, collections, type Collection } from '../../collections/index.js';
import { withKeyOrigin } from '../../core/index.js';
import type { CollectionStream, ConnectOptions, Row } from '../../index.js';
import { command, connectionOf, wordsIn, refuseUnknown, repeated, type ArgumentsOf, type CommandContext, type Parser } from '../command.js';
import { printRows } from '../console.js';

const options = (yargs: Parser) =>
  yargs
    .positional('collection', { choices: collectionNames, demandOption: true, describe: 'Collection' })
    .positional('id', { type: 'string', describe: 'Identifier at the end of the path' })
    .option('format', { choices: ['ndjson', 'csv', 'table'] as const, default: 'ndjson' as const, describe: 'Format of the rows' })
    .option('page-size', { type: 'number', describe: 'Rows per request, at most 500 (default 30); all pages are printed' })
    .option('reveal', { ...repeated, describe: 'Secret field to include' })
    .option('columns', { ...repeated, describe: 'Columns to print, like uid,email; default all' })
    .check(({ id }) => id === undefined || !/^\.*$/.test(id) || 'an identifier must not be empty or made of dots')
    .check(
      ({ 'page-size': size = 1 }) => (Number.isInteger(size) && size >= 1 && size <= 500) || '--page-size takes a whole number, 1 to 500',
    )
    .example('$0 fetch leads 1000001', 'the service comes from LEADSTREAM_BASE_URL and the key variables');

export const fetch = command(
  'fetch <collection> [id]',
  'Print a collection, or the records with an identifier',
  options,
  async (arguments_, context) => {
    const connection = await connectionOf('fetch', context);
    if (arguments_.id === undefined) return fetchList(arguments_, connection, context);
    return fetchOne(arguments_, arguments_.id, connection, context);
  },
);

type Arguments = ArgumentsOf<typeof options>;

async function fetchList(arguments_: Arguments, connection: ConnectOptions, context: CommandContext): Promise<number> {
  const { loadPipeline } = await import('../../index.js');
  const { runSeries } = await import('../series.js');
  const { collection, format, pageSize, reveal } = arguments_;
  const spec = { name: `fetch-${collection}`, from: collection, reveal, to: [{ stdout: { format, ...wantedColumns(arguments_) } }] };
  const pipeline = await loadPipeline({ text: JSON.stringify(spec), file: 'fetch' }, { env: context.env, baseDir: context.cwd });
  return runSeries([{ ...pipeline, connection: { ...connection, ...(pageSize !== undefined && { limit: pageSize }) } }], context);
}

function wantedColumns({ collection, reveal, columns: words }: Arguments): { readonly columns?: readonly string[] } {
  const columns = wordsIn(words);
  const known = columnsOf<Collection>(collections[collection], reveal).map(({ name }) => name);
  refuseUnknown('--columns', 'column', columns, known);
  return columns.length === 0 ? {} : { columns };
}

async function fetchOne(
  arguments_: Arguments,
  id: string,
  connection: ConnectOptions,
  { console, stdout, signal }: CommandContext,
): Promise<number> {
  const { collection, format, reveal } = arguments_;
  const { connect } = await import('../../index.js');
  const { watchers } = await import('../watchers.js');
  const service = connect({ ...connection, watch: watchers(console) });
  try {
    // `with` checks what is revealed.
    const records: CollectionStream<Row, Row> = service.collection(collection);
    const rows = await records.with({ reveal }).find(id, { signal });
    await printRows(stdout, { format, ...wantedColumns(arguments_) }, columnsOf<Collection>(collections[collection], reveal), rows);
    if (rows.length > 0) return 0;
    console.log('error', `leadstream: no ${collection} with the identifier ${id}`);
    return 1;
  } catch (error) {
    const [field = ''] = Object.keys(connection.auth).slice(-1);
    throw withKeyOrigin(error, `${field} is from LEADSTREAM_${field.toUpperCase()}`);
  } finally {
    await service.close();
  }
}
