import type { Document } from 'yaml';

/** Returns the names of pipelines that have one. */
export function namesOf(documents: readonly Document[]): readonly string[] {
  return documents.map((document) => document.get('name')).filter((name) => typeof name === 'string');
}

/** Returns the names of pipelines in a text that is not valid YAML, based on its lines. */
export function namesInLines(text: string): readonly string[] {
  return [...text.matchAll(/^name[ \t]*:[ \t]*(["']?)([A-Za-z0-9][\w.-]*)\1[ \t]*(?:#|\r?$)/gm)].flatMap(([, , name]) => name ?? []);
}
