import type { Argv } from 'yargs';
import { collectionNames, columnsOf, collections, type CollectionName } from '../../collections/index.js';
import { LeadstreamError } from '../../errors.js';
import { commonOptions, type CommandContext, type CommonArguments, type Runner } from '../context.js';

interface FetchArguments extends CommonArguments {
  readonly collection: CollectionName;
  readonly id: string | undefined;
  readonly format: 'ndjson' | 'csv' | 'table';
  readonly limit: number;
  readonly reveal: readonly string[];
}

/** Adds `leadstream fetch`. */
export function addFetch(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'fetch <collection> [id]',
    'Print a collection, or the records with an identifier',
    (options) =>
      commonOptions(options)
        .positional('collection', { choices: collectionNames, demandOption: true, describe: 'Collection' })
        .positional('id', { type: 'string', describe: 'Identifier at the end of the path' })
        .option('format', { choices: ['ndjson', 'csv', 'table'] as const, default: 'ndjson' as const, describe: 'Form of the rows' })
        .option('limit', { type: 'number', default: 500, describe: 'Rows per page, at most 500' })
        .option('reveal', {
          type: 'string',
          array: true,
          nargs: 1,
          default: [],
          describe: 'Credential-like field that is wanted all the same',
        })
        .example('$0 fetch leads 1000001', 'the service comes from LEADSTREAM_BASE_URL and the key variables'),
    (arguments_) =>
      runner(arguments_, (context) =>
        arguments_.id === undefined ? fetchList(arguments_, context) : fetchOne(arguments_, arguments_.id, context),
      ),
  );
}

async function fetchList({ collection, format, limit, reveal }: FetchArguments, { env, signal, console }: CommandContext): Promise<number> {
  const { ClosedPipeError, parsePipeline, runPipeline, summaryOf } = await import('../../index.js');
  const { createProgress } = await import('../progress.js');
  const spec = {
    name: `fetch-${collection}`,
    service: { base_url: '${LEADSTREAM_BASE_URL}', auth: authReferences(env), limit },
    from: collection,
    reveal,
    to: [{ stdout: { format } }],
  };
  const pipeline = parsePipeline(JSON.stringify(spec), 'fetch', { env });
  const progress = createProgress(console, collection);
  try {
    const report = await runPipeline(pipeline, { signal, onProgress: process.stdout.isTTY ? undefined : progress.show });
    progress.end();
    console.log('info', summaryOf(report));
  } catch (error) {
    progress.end();
    if (!(error instanceof ClosedPipeError)) throw error;
  }
  return 0;
}

function authReferences(env: CommandContext['env']): Readonly<Record<string, string>> {
  if (env.LEADSTREAM_REST_API_KEY) return { rest_api_key: '${LEADSTREAM_REST_API_KEY}' };
  return { authorized_uid: '${LEADSTREAM_AUTHORIZED_UID}', authorized_rest_api_key: '${LEADSTREAM_AUTHORIZED_REST_API_KEY}' };
}

async function fetchOne({ collection, format, reveal }: FetchArguments, id: string, { env, console }: CommandContext): Promise<number> {
  const { connect, connectionFromEnvironment, stdout } = await import('../../index.js');
  const { lastValueFrom } = await import('rxjs');
  const connection = connectionFromEnvironment(env);
  if ('missing' in connection) throw new LeadstreamError('E_SPEC_REFERENCE', `the environment must set ${connection.missing}`);
  const service = connect(connection);
  try {
    const rows = await lastValueFrom(service.find(collection, id, { reveal }));
    const out = await stdout({ format });
    await out.begin(columnsOf(collections[collection], reveal));
    await out.write({ number: 1, rows, lease: { release: () => {} } });
    await out.finish();
    if (rows.length > 0) return 0;
    console.log('error', `leadstream: no ${collection} with the identifier ${id}`);
    return 1;
  } finally {
    service.close();
  }
}
