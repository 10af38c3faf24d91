import type { Argv } from 'yargs';
import { commonOptions, type Runner } from '../context.js';
import { print } from '../streams.js';

/** Adds `leadstream schema`. */
export function addSchema(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'schema',
    'Print the JSON Schema of pipeline files, or their reference',
    (options) =>
      commonOptions(options)
        .option('markdown', { type: 'boolean', default: false, describe: 'The reference as Markdown' })
        .example('$0 schema > pipeline.schema.json', 'for an editor')
        .example('$0 schema --markdown', 'every key, step, function, sink, error and field'),
    (arguments_) =>
      runner(arguments_, async ({ stdout }) => {
        const { pipelineReference, pipelineSchema } = await import('../../index.js');
        const text = arguments_.markdown ? await pipelineReference() : JSON.stringify(await pipelineSchema(), undefined, 2);
        await print(stdout, `${text}\n`);
        return 0;
      }),
  );
}
