import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { packageFile, SinkError, type Column } from '../../core/index.js';
import { command } from '../command.js';
import { printRows } from '../console.js';

/** Columns of the preview. None is personal. */
const previewed = ['lead_id', 'lead_status', 'timestamp', 'bridge_title', 'bridge_niche', 'area_area_code', 'area_city_population'];

/** Folder of the demo in the working directory, so that it touches no one's outputs. */
const folder = 'leadstream-demo';

export const demo = command(
  'demo',
  `Serve generated rows and run leads-enriched.yaml on them, in ./${folder}`,
  (yargs) =>
    yargs
      .option('leads', { type: 'number', default: 20_017, describe: 'Generated leads' })
      .example('$0 demo --leads 1000', 'a few seconds, and nothing outside the folder'),
  async ({ leads }, context) => {
    const { console, cwd, stdout } = context;
    const { loadPipeline } = await import('../../index.js');
    const { generate, startService } = await import('../../service/index.js');
    const { runAndReport } = await import('../reporting.js');
    const key = randomBytes(16).toString('hex');
    console.hide([key]);
    const service = await startService({ source: generate({ leads, seed: 7 }), accounts: [{ restApiKey: key }] });
    try {
      const file = packageFile('pipelines/leads-enriched.yaml');
      const env = { ...context.env, LEADSTREAM_BASE_URL: service.url, LEADSTREAM_REST_API_KEY: key };
      const pipeline = await loadPipeline(file, { env, baseDir: resolve(cwd, folder) });
      console.log('info', `serving ${leads.toLocaleString('en-US')} leads on ${service.url}, running ${file} in the folder ${folder}`);
      const report = await runAndReport(pipeline, context, { allowShrink: true });
      const table = report.sinks.find(({ at }) => at.endsWith('parquet'))?.path;
      if (table !== undefined) {
        console.log('info', ['', `The first rows of ${join(table, '*.parquet')}:`, '']);
        await previewTable(stdout, table);
      }
      return 0;
    } finally {
      await service.close();
    }
  },
);

/** Prints the first rows of a Parquet table on stdout, as another program would read them. */
async function previewTable(stdout: NodeJS.WritableStream, table: string): Promise<void> {
  const { publishedManifest, readGroups } = await import('../../index.js');
  const manifest = await publishedManifest(table);
  const file = manifest?.files[0];
  if (!manifest || !file) throw new SinkError('E_SINK_VERIFY', `${table}: there is no manifest`);
  const shown = manifest.schema.filter(({ name }) => previewed.includes(name));
  const columns = shown.map(({ name, type }): Column => ({ name, original: name, type, cast: true, sensitivity: 'plain' }));
  const names = columns.map(({ name }) => name);
  for await (const group of readGroups(join(table, file.name), names)) return printRows(stdout, columns, group.slice(0, 10));
}
