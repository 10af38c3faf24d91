import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** An export of a module, where it is declared. */
export interface Exported {
  readonly name: string;
  readonly kind: string;
  readonly file: string;
  /** Whether it is exported as a type only, such as a class that callers do not construct. */
  readonly typeOnly: boolean;
  /** The text of its doc comment; `undefined` without one. */
  readonly comment: string | undefined;
  /** The examples of its comment, and of the comments of its members. */
  readonly examples: readonly string[];
}

const declaration = /^export (?:declare )?(?:abstract )?(?:async )?(function\*?|const|class|interface|type) (\w+)/gm;

/** Returns the exports of a module: those it declares, and those it re-exports from our modules, by a list or as a whole. */
export async function exportsOf(file: string): Promise<readonly Exported[]> {
  const text = await readFile(file, 'utf8');
  const own = [...text.matchAll(declaration)].map((match) => declared(file, text, match));
  const once = [...new Map(own.toReversed().map((each) => [each.name, each])).values()];
  const lists = [...withoutComments(text).matchAll(/export (type )?\{([^}]*)\}(?: from '([^']+)')?;/g)];
  const listed = await Promise.all(
    lists.map(async ([, allTypes, names = '', from]) => {
      const places = from === undefined ? importedBy(text) : [from];
      const found = (
        await Promise.all(places.filter((place) => place.startsWith('.')).map((place) => exportsOf(beside(file, place))))
      ).flat();
      return namesIn(names).map(({ local, name, isType }) => {
        const declaredThere = found.find((each) => each.name === local);
        if (declaredThere === undefined) throw new Error(`${file} exports ${local}, which is declared nowhere`);
        return { ...declaredThere, name, typeOnly: declaredThere.typeOnly || isType || allTypes !== undefined };
      });
    }),
  );
  const wholes = [...withoutComments(text).matchAll(/export \* from '(\.[^']+)';/g)].map(([, from = '']) => exportsOf(beside(file, from)));
  return [...once, ...listed.flat(), ...(await Promise.all(wholes)).flat()];
}

function declared(file: string, text: string, { index, 1: kind = '', 2: name = '' }: RegExpExecArray): Exported {
  const comment = commentBefore(text, index);
  const end = text.slice(index).search(/^\}|;$/m);
  const body =
    kind === 'class' || kind === 'interface' ? text.slice(index, index + text.slice(index).search(/^\}/m)) : text.slice(index, index + end);
  const members = [...body.matchAll(/\/\*\*([\s\S]*?)\*\//g)].map(([, inner = '']) => inner);
  const typeOnly = kind === 'interface' || kind === 'type';
  return { name, kind, file, typeOnly, comment, examples: [comment ?? '', ...members].flatMap(examplesIn) };
}

/** Returns the doc comment directly before a declaration. */
function commentBefore(text: string, index: number): string | undefined {
  const before = text.slice(0, index).trimEnd();
  return before.endsWith('*/') ? before.slice(before.lastIndexOf('/**') + 3, -2) : undefined;
}

function examplesIn(comment: string): readonly string[] {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, ''));
  const examples: string[][] = [];
  let current: string[] | undefined;
  for (const line of lines) {
    if (line.startsWith('@')) current = undefined;
    if (line.startsWith('@example')) examples.push((current = []));
    else current?.push(line);
  }
  return examples.map((example) => example.join('\n').trim());
}

const withoutComments = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');

const importedBy = (text: string) => [...text.matchAll(/^import [^;]* from '([^']+)';/gm)].map(([, from = '']) => from);

const beside = (file: string, place: string) => join(dirname(file), place.replace(/\.js$/, '.ts'));

function namesIn(names: string): readonly { readonly local: string; readonly name: string; readonly isType: boolean }[] {
  const parts = names.split(',').map((part) => part.trim());
  return parts
    .filter((part) => part !== '')
    .map((part) => {
      const [local = '', name = local] = part.replace(/^type /, '').split(/\s+as\s+/);
      return { local, name, isType: part.startsWith('type ') };
    });
}

/** The pages of the guide. */
export const guide = ['recipes', 'operations', 'monitoring', 'tables', 'databases', 'stores', 'embedding', 'testing', 'extending'].map(
  (name) => `pipelines/guide/${name}.md`,
);

/** Returns the blocks of a language in a page of Markdown; by default those of programs. */
export async function blocksIn(page: string, language = '[jt]s'): Promise<readonly string[]> {
  const fenced = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...(await readFile(page, 'utf8')).matchAll(fenced)].map(([, block = '']) => block);
}

/** Returns what a page of Markdown links to, except addresses. An empty path is the page itself. */
export async function linksIn(page: string): Promise<readonly { readonly path: string; readonly anchor: string | undefined }[]> {
  const text = (await readFile(page, 'utf8')).replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path = '', anchor]) => ({ path, anchor }));
}
