import { resolve } from 'node:path';
import { LeadstreamError } from '../core/index.js';
import { writesOver, type LintedPipeline, type Pipeline } from '../index.js';

/** A pipeline to run, or one that was only checked. */
type Writer = Pipeline | LintedPipeline;

/**
 * Refuses files whose pipelines have the same name, by which the state folder tells them apart, or write to the same place, stdout included.
 *
 * @param files Those that one command runs.
 * @throws {LeadstreamError} `E_USAGE`.
 */
export function refuseClashes(files: readonly { readonly file: string; readonly pipelines: readonly Writer[] }[]): void {
  const earlier: { readonly file: string; readonly pipeline: Writer }[] = [];
  for (const { file, pipelines } of files) {
    for (const pipeline of pipelines) {
      const refuse = (isClash: (other: Writer) => boolean, what: string) => {
        const clash = earlier.find((each) => isClash(each.pipeline));
        if (clash === undefined) return;
        const message = `${file}: the pipeline '${pipeline.name}' ${what} '${clash.pipeline.name}' of ${clash.file}`;
        throw new LeadstreamError('E_USAGE', message);
      };
      refuse(({ name }) => name === pipeline.name, 'has the name of');
      refuse((other) => writesOf(pipeline).some((path) => writesOver(other, path)), 'writes to the same path as, or inside that of,');
      refuse((other) => prints(pipeline) && prints(other), 'prints to stdout, which would mix its rows with those of');
    }
    earlier.push(...pipelines.map((pipeline) => ({ file, pipeline })));
  }
}

function writesOf(writer: Writer): readonly string[] {
  if ('writes' in writer) return writer.writes;
  return [...writer.plan.sinks.map(({ output }) => output), writer.rejects.path].filter((path) => path !== undefined);
}

function prints(writer: Writer): boolean {
  return 'writes' in writer ? writer.prints : writer.plan.sinks.some(({ definition }) => definition.prints);
}

/** A file that a command line may name, and what it is. */
export interface NamedFile {
  readonly what: string;
  readonly file: string | undefined;
}

/**
 * Refuses pipelines that would write over a file that the command reads or writes.
 *
 * @throws {LeadstreamError} `E_USAGE`.
 */
export function refuseWritingOver(pipelines: readonly Writer[], files: readonly NamedFile[], cwd: string): void {
  for (const { what, file } of files) {
    const writer = file === undefined ? undefined : pipelines.find((pipeline) => writesOver(pipeline, resolve(cwd, file)));
    if (writer) throw new LeadstreamError('E_USAGE', `${what} ${file} is where the pipeline '${writer.name}' writes, or inside it`);
  }
}
