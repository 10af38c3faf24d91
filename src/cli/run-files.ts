import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { LeadstreamError, SpecError } from '../core/index.js';
import { writesOver, type LoadOptions, type Pipeline } from '../index.js';
import type { CommandContext } from './context.js';

/** A pipeline file, or why it could not be loaded. */
export type LoadedFile =
  | { readonly file: string; readonly pipelines: readonly Pipeline[] }
  /** `names`: the pipelines in it that are to run, as far as they can be made out. */
  | { readonly file: string; readonly failure: unknown; readonly names: readonly string[] };

/** A file that a command line may name, and what it is. */
export interface NamedFile {
  readonly what: string;
  readonly file: string | undefined;
}

/**
 * Loads all files, so that every problem is reported before the first request. A bad file does not keep the others from loading.
 *
 * @param isWanted Whether a pipeline of that name is to run.
 */
export async function loadFiles(
  files: readonly string[],
  options: LoadOptions,
  isWanted: (pipeline: string) => boolean,
): Promise<readonly LoadedFile[]> {
  const { loadPipelines } = await import('../index.js');
  const loaded: LoadedFile[] = [];
  for (const file of files) {
    try {
      loaded.push({ file, pipelines: await loadPipelines(file, options) });
    } catch (failure) {
      const names = failure instanceof SpecError ? failure.pipelines : [];
      loaded.push({ file, failure, names: names.filter(isWanted) });
    }
  }
  return loaded;
}

/**
 * Refuses files whose pipelines have the same name, by which the state folder tells them apart, or write to the same place, stdout included.
 *
 * @param wanted The pipelines to run; the others write nothing.
 * @throws {LeadstreamError} `E_USAGE`.
 */
export function refuseClashes(loaded: readonly LoadedFile[], wanted: readonly Pipeline[]): void {
  const earlier: { readonly file: string; readonly pipeline: Pipeline }[] = [];
  for (const one of loaded) {
    if ('failure' in one) continue;
    const { file } = one;
    const pipelines = one.pipelines.filter((pipeline) => wanted.includes(pipeline));
    for (const { name, plan, rejects } of pipelines) {
      const sameName = earlier.find(({ pipeline }) => pipeline.name === name);
      if (sameName) throw new LeadstreamError('E_USAGE', `${file}: the name '${name}' is taken by a pipeline of ${sameName.file}`);
      const outputs = [...plan.sinks.flatMap(({ output }) => output ?? []), ...(rejects.path === undefined ? [] : [rejects.path])];
      const clash = earlier.find(({ pipeline }) => outputs.some((output) => writesOver(pipeline, output)));
      if (clash)
        throw new LeadstreamError(
          'E_USAGE',
          `${file}: the pipeline '${name}' writes to the same path as '${clash.pipeline.name}' of ${clash.file}, or inside it`,
        );
      const printer = prints(plan) ? earlier.find(({ pipeline }) => prints(pipeline.plan)) : undefined;
      if (printer)
        throw new LeadstreamError(
          'E_USAGE',
          `${file}: the pipeline '${name}' prints to stdout, as does '${printer.pipeline.name}' of ${printer.file}, which would mix their rows; run them one at a time`,
        );
    }
    earlier.push(...pipelines.map((pipeline) => ({ file, pipeline })));
  }
}

function prints({ sinks }: Pipeline['plan']): boolean {
  return sinks.some((sink) => sink.prints);
}

/**
 * Refuses to write two things to one file.
 *
 * @param files Files to be written.
 * @throws {LeadstreamError} `E_USAGE`.
 */
export function refuseSameFile(files: readonly NamedFile[], { cwd }: CommandContext): void {
  const known = new Map<string, string>();
  for (const { what, file } of files) {
    if (file === undefined) continue;
    const path = realPath(resolve(cwd, file));
    const other = known.get(path);
    if (other !== undefined) throw new LeadstreamError('E_USAGE', `${other} and ${what} name the same file, ${file}; name two files`);
    known.set(path, what);
  }
}

/** Resolves the links in a path, as far as it exists. */
function realPath(path: string): string {
  for (const [known, rest] of [
    [path, ''],
    [dirname(path), basename(path)],
  ] as const) {
    try {
      return join(realpathSync(known), rest);
    } catch {
      // It does not exist yet.
    }
  }
  return path;
}

/**
 * Refuses a pipeline that would write over what a run reads, or over its report.
 *
 * @throws {LeadstreamError} `E_USAGE`.
 */
export function refuseWritingOver(pipelines: readonly Pipeline[], files: readonly NamedFile[], { cwd }: CommandContext): void {
  for (const { what, file } of files) {
    const writer = file === undefined ? undefined : pipelines.find((pipeline) => writesOver(pipeline, resolve(cwd, file)));
    if (writer) throw new LeadstreamError('E_USAGE', `${what} ${file} is where the pipeline '${writer.name}' writes, or inside it`);
  }
}
