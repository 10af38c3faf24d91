import { command, toggle } from '../command.js';
import { printTo } from '../console.js';

export const schemaCommand = command(
  'schema',
  'Print the JSON Schema of pipeline files, or their reference',
  (yargs) =>
    yargs
      .option('markdown', { ...toggle, describe: 'The reference as Markdown' })
      .example('$0 schema > pipeline.schema.json', 'for an editor')
      .example('$0 schema --markdown', 'every key, step, function, sink, error and field'),
  async ({ markdown }, { stdout }) => {
    const { pipelineReference, pipelineSchema } = await import('../../index.js');
    await printTo(stdout, `${markdown ? await pipelineReference() : JSON.stringify(await pipelineSchema(), undefined, 2)}\n`);
    return 0;
  },
);
