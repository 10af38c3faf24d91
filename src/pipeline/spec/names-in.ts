import type { Document } from 'yaml';

/** The names of pipelines, as far as they have some. */
export function namesOf(documents: readonly Document[]): readonly string[] {
  return documents.map((document) => document.get('name')).filter((name) => typeof name === 'string');
}

/** The same of a text that is no YAML: its lines tell. */
export function namesInLines(text: string): readonly string[] {
  return [...text.matchAll(/^name[ \t]*:[ \t]*(["']?)([A-Za-z0-9][\w.-]*)\1[ \t]*(?:#|\r?$)/gm)].flatMap(([, , name]) => name ?? []);
}
