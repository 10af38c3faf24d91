import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Where the examples of containers are. */
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

/** The compose file, with what its services have in common in each of them. */
export async function compose(): Promise<Compose> {
  return parse(await readFile(join(containerFolder, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
}
