import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { packageFile } from '../../core/index.js';
import { command, leadsUntil } from '../command.js';

/** In the working directory, a folder of its own, so that nobody's outputs are touched. */
const folder = 'leadstream-demo';

export const demo = command(
  'demo',
  `Serve generated rows and run leads-enriched.yaml on them, in ./${folder}`,
  (yargs) =>
    yargs
      .option('leads', { type: 'number', default: 20_017, describe: 'Generated leads' })
      .option('until', leadsUntil)
      .example('$0 demo --leads 1000', 'a few seconds, and nothing outside the folder'),
  async ({ leads, until }, context) => {
    const { console, cwd } = context;
    const { loadPipeline } = await import('../../index.js');
    const { generate, startService } = await import('../../service/index.js');
    const { runSeries } = await import('../series.js');
    const key = randomBytes(16).toString('hex');
    console.hide([key]);
    const service = await startService({ source: generate({ leads, seed: 7, until }), accounts: [{ restApiKey: key }] });
    try {
      const file = packageFile('pipelines/leads-enriched.yaml');
      const env = { ...context.env, LEADSTREAM_BASE_URL: service.url, LEADSTREAM_REST_API_KEY: key };
      const pipeline = await loadPipeline(file, { env, baseDir: resolve(cwd, folder) });
      console.log(
        'info',
        `serving ${leads.toLocaleString('en-US')} leads until ${until} on ${service.url}, running ${file} in the folder ${folder}`,
      );
      const exit = await runSeries([pipeline], context, { allowShrink: true });
      const table = pipeline.plan.sinks.find(({ definition }) => definition.name === 'parquet')?.output;
      if (exit === 0 && table !== undefined) console.log('info', `readers of Parquet find the rows in ${join(table, '*.parquet')}`);
      return exit;
    } finally {
      await service.close();
    }
  },
);
