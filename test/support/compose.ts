import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Folder of the container examples. */
export const containerFolder = join('examples', 'container');

interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly [key: string]: unknown;
}

interface Compose {
  readonly services: Readonly<Record<'service' | 'export', Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Reads the compose file, with the common parts merged into each service. */
export async function compose(): Promise<Compose> {
  return parse(await readFile(join(containerFolder, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
}
