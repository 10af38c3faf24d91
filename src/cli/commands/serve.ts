import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { generatedNames, generatedRows, type GeneratedCounts } from '../../collections/index.js';
import { byName, LeadstreamError, minSecretLength } from '../../core/index.js';
import { commonOptions, type CommandContext, type CommonArguments, type Runner } from '../context.js';
import { print } from '../streams.js';

interface ServeArguments extends CommonArguments, GeneratedCounts {
  readonly port: number;
  readonly host: string;
  readonly seed: number;
  readonly data: string | undefined;
  readonly collections: string | undefined;
  readonly accounts: string | undefined;
  readonly quirk: readonly string[];
  readonly fault: readonly string[];
  readonly drift: string | undefined;
  readonly requestLog: string | undefined;
}

/** The grammar of quirks, faults and drift; `Quirks`, `FaultSpec` and `DriftOptions` describe what each does. */
const grammar = `Quirks (NAME or NAME=VALUE):
  first-page=0  default-limit=N  cap=N  refuse-over-cap  repeat-last  ignore-page
  empty-page=N or N:once  paged-links  bare-record
  not-found=404|object|null|nothing  areacode-path=singular|plural
  missing-fields=SHARE  unknown-fields=SHARE  non-strings=SHARE  huge-values=SHARE
  proto-key=SHARE  unstable-order=N (N neighbours share a sort key)

Faults (KIND[=VALUE][@TERM,…], the first one outermost):
  400 to 599, with a Retry-After: 503=2 (seconds) or 503=date+2 (HTTP date)
  hang  stall  delay=MS  drip=BYTES_PER_SECOND  cut=length|chunked|close
  html  empty-body  empty-object  error-object  null  non-objects  empty-list
  gzip  gzip-bomb=MB  redirect=ORIGIN
 terms, all of which must hold:
  page=3 or 3-5 or 3-   requests=5-7 (of the whole service)   rate=0.1 (by --seed)
  times=2 (only the first 2 times that the same request comes)
  collection=NAME   purpose=page|probe

Drift (TERM,…):
  every=READS or chance=SHARE   changes=insert-head+insert-tail+delete
  collections=leads+bridges+…   most=CHANGES`;

/** An option for each collection that is generated in any size. */
const counts = byName(generatedNames, (name) => ({ type: 'number', default: generatedRows[name], describe: `Generated ${name}` }) as const);

/** Adds `leadstream serve`. */
export function addServe(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'serve',
    'Run the data service itself, on generated rows or on files',
    (options) =>
      commonOptions(options)
        .option('port', { type: 'number', default: 8080, describe: 'Port; 0 picks a free one' })
        .option('host', { type: 'string', default: '127.0.0.1', describe: 'Address to listen on' })
        .options(counts)
        .option('seed', {
          type: 'number',
          default: 1,
          describe: 'Seed of the generator, and of what is random in quirks, faults and drift',
        })
        .option('data', { type: 'string', describe: 'Folder of CSV or NDJSON files to serve, named after the collections' })
        .option('collections', {
          type: 'string',
          implies: 'data',
          describe: 'Pipeline file whose own collections, paged by number, are served from that folder too',
        })
        .option('accounts', { type: 'string', describe: 'JSON file of accounts; without it, the LEADSTREAM_… variables name one' })
        .option('quirk', {
          type: 'string',
          array: true,
          nargs: 1,
          default: [],
          describe: 'Variation of the service: NAME or NAME=VALUE',
        })
        .option('fault', {
          type: 'string',
          array: true,
          nargs: 1,
          default: [],
          describe: 'Inject a fault: KIND[=VALUE][@TERM,…]',
        })
        .option('drift', { type: 'string', describe: 'Lists that change while they are read: TERM,…' })
        .option('request-log', { type: 'string', describe: 'File that gets a line of NDJSON per request' })
        .example('LEADSTREAM_REST_API_KEY=… $0 serve --leads 100000 --seed 7', 'prints its URL on stdout')
        .example('$0 serve --quirk cap=100 --fault 503=1@page=3,times=2 --drift every=10', 'a service that is hard to read')
        .epilogue(grammar),
    (arguments_) => runner(arguments_, (context) => serve(arguments_, context)),
  );
}

async function serve(arguments_: ServeArguments, { console, env, cwd, stdout, signal }: CommandContext): Promise<number> {
  const { loadCollections } = await import('../../index.js');
  const { accountsFromEnv, generate, openDirectory, openOwnTables, readAccounts, startService } = await import('../../service/index.js');
  const { port, host, seed, data, drift, quirk: quirks, fault: faults } = arguments_;
  const accounts = arguments_.accounts === undefined ? accountsFromEnv(env) : await readAccounts(resolve(cwd, arguments_.accounts));
  if (accounts.length === 0) {
    throw new LeadstreamError(
      'E_USAGE',
      'no account: name a file with --accounts, or set LEADSTREAM_REST_API_KEY, or LEADSTREAM_AUTHORIZED_UID with LEADSTREAM_AUTHORIZED_REST_API_KEY',
    );
  }
  if (accounts.some((account) => ('key' in account ? account.key : account.restApiKey).length < minSecretLength))
    console.log('warn', `a key is shorter than ${minSecretLength} characters: pipelines and programs do not accept it`);
  const requestLog = arguments_.requestLog === undefined ? undefined : resolve(cwd, arguments_.requestLog);
  const source =
    data === undefined
      ? generate({ ...byName(generatedNames, (name) => arguments_[name]), seed })
      : await openDirectory(resolve(cwd, data));
  const declared = arguments_.collections === undefined ? [] : await loadCollections(arguments_.collections, { env, cwd });
  const own = data === undefined ? [] : await openOwnTables(resolve(cwd, data), declared);
  const service = await startService({ port, host, source, own, accounts, seed, quirks, faults, drift, requestLog });
  try {
    await print(stdout, `${service.url}\n`);
    console.log(
      'info',
      `serving ${data ?? `${arguments_.leads.toLocaleString('en-US')} generated leads`} on ${service.url}; Ctrl+C stops it`,
    );
    await new Promise((done) => {
      if (signal.aborted) done(undefined);
      else signal.addEventListener('abort', done, { once: true });
    });
    return 0;
  } finally {
    await service.close();
  }
}
