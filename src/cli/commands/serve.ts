import { once } from 'node:events';
import { resolve } from 'node:path';
import { generatedNames, generatedRows } from '../../collections/index.js';
import { byName, LeadstreamError, minSecretLength } from '../../core/index.js';
import { command, leadsUntil, repeated, toggle } from '../command.js';
import { printTo } from '../console.js';

const counts = byName(generatedNames, (name) => ({ type: 'number', default: generatedRows[name], describe: `Generated ${name}` }) as const);

export const serve = command(
  'serve',
  'Run the data service itself, on generated rows or files',
  (yargs) =>
    yargs
      .option('port', { type: 'number', default: 8080, describe: 'Port; 0 picks a free one' })
      .option('host', { type: 'string', default: '127.0.0.1', describe: 'Address to listen on' })
      .options(counts)
      .option('seed', { type: 'number', default: 1, describe: 'Seed of the generator' })
      .option('until', leadsUntil)
      .option('canadian', { ...toggle, describe: 'Some generated leads have Canadian postal codes' })
      .option('data', { type: 'string', describe: 'Folder of CSV or NDJSON files to serve, named after the collections' })
      .option('collections', {
        type: 'string',
        implies: 'data',
        describe: 'Pipeline file whose collections, if paged by number, are served from that folder, too',
      })
      .option('fault', {
        ...repeated,
        describe: 'Fault: 503, delay=MS, cut or empty, with @page=3-5, collection=NAME, times=N, like 503@page=3,times=2',
      })
      .example('LEADSTREAM_REST_API_KEY=… $0 serve --leads 100000 --seed 7', 'prints its URL on stdout')
      .example('$0 serve --fault 503=1@page=3,times=2', 'page 3 fails twice'),
  async (arguments_, { console, env, cwd, stdout, signal }) => {
    const { loadCollections } = await import('../../index.js');
    const { accountsFromEnv, generate, openDirectory, startService } = await import('../../service/index.js');
    const { port, host, seed, until, canadian, data, leads, fault: faults } = arguments_;
    const accounts = accountsFromEnv(env);
    const missing = 'no account: set LEADSTREAM_REST_API_KEY, or LEADSTREAM_AUTHORIZED_UID with LEADSTREAM_AUTHORIZED_REST_API_KEY';
    if (accounts.length === 0) throw new LeadstreamError('E_USAGE', missing);
    if (accounts.some((account) => ('key' in account ? account.key : account.restApiKey).length < minSecretLength))
      console.log('warn', `a key is shorter than ${minSecretLength} characters: pipelines and programs do not accept it`);
    const declared = arguments_.collections === undefined ? [] : await loadCollections(arguments_.collections, { env, cwd });
    const source =
      data === undefined
        ? generate({ ...byName(generatedNames, (name) => arguments_[name]), seed, until, canadian })
        : await openDirectory(resolve(cwd, data), declared, (line) => console.log('info', line));
    const service = await startService({ port, host, source, declared, accounts, faults });
    try {
      await printTo(stdout, `${service.url}\n`);
      console.log(
        'info',
        `serving ${data ?? `${leads.toLocaleString('en-US')} generated leads until ${until}`} on ${service.url}; Ctrl+C stops it`,
      );
      if (!signal.aborted) await once(signal, 'abort');
      return 0;
    } finally {
      await service.close({ graceMs: 10_000 });
    }
  },
);
