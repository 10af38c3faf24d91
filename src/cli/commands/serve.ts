import type { Argv } from 'yargs';
import { LeadstreamError } from '../../errors.js';
import { commonOptions, type CommandContext, type CommonArguments, type Runner } from '../context.js';

interface ServeArguments extends CommonArguments {
  readonly port: number;
  readonly host: string;
  readonly leads: number;
  readonly bridges: number;
  readonly links: number;
  readonly users: number;
  readonly seed: number;
  readonly data: string | undefined;
  readonly accounts: string | undefined;
}

/** Adds `leadstream serve`. */
export function addServe(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'serve',
    'Run the data service itself, on generated rows or on files',
    (options) =>
      commonOptions(options)
        .option('port', { type: 'number', default: 8080, describe: 'Port; 0 takes a free one' })
        .option('host', { type: 'string', default: '127.0.0.1', describe: 'Address to listen on' })
        .option('leads', { type: 'number', default: 100_000, describe: 'Generated leads' })
        .option('bridges', { type: 'number', default: 200, describe: 'Generated bridges' })
        .option('links', { type: 'number', default: 400, describe: 'Generated links' })
        .option('users', { type: 'number', default: 300, describe: 'Generated users' })
        .option('seed', { type: 'number', default: 1, describe: 'Seed of the generator' })
        .option('data', { type: 'string', describe: 'Folder of CSV or NDJSON files to serve, named after the collections' })
        .option('accounts', { type: 'string', describe: 'JSON file of accounts; without, the LEADSTREAM_… variables name one' })
        .example('LEADSTREAM_REST_API_KEY=… $0 serve --leads 100000 --seed 7', 'prints its URL on stdout'),
    (arguments_) => runner(arguments_, (context) => serve(arguments_, context)),
  );
}

async function serve(arguments_: ServeArguments, { console, env, signal }: CommandContext): Promise<number> {
  const { accountsFromEnv, generate, openDirectory, readAccounts, startService } = await import('../../index.js');
  const { port, host, leads, bridges, links, users, seed, data } = arguments_;
  const accounts = arguments_.accounts === undefined ? accountsFromEnv(env) : await readAccounts(arguments_.accounts);
  if (accounts.length === 0) {
    throw new LeadstreamError(
      'E_USAGE',
      'no account: name a file with --accounts, or set LEADSTREAM_REST_API_KEY, or LEADSTREAM_AUTHORIZED_UID with LEADSTREAM_AUTHORIZED_REST_API_KEY',
    );
  }
  const source = data === undefined ? generate({ leads, bridges, links, users, seed }) : await openDirectory(data);
  const service = await startService({ port, host, source, accounts });
  process.stdout.write(`${service.url}\n`);
  console.log('info', `serving ${data ?? `${leads.toLocaleString('en-US')} generated leads`} on ${service.url}; Ctrl+C ends it`);
  await new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', resolve, { once: true });
  });
  await service.close();
  return 0;
}
