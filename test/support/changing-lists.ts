import { changing, type Lists } from './changing.js';
import { leads } from './pipelines.js';
import { service } from './services.js';
import { temporaryFolder } from './temporary.js';

export const bridges = (count: number) => Array.from({ length: count }, (_, index) => ({ id: String(index), title: `T${index}` }));
/** Makes leads of ten bridges. */
export const bridged = (count: number) => leads(count, (index) => ({ bridge_id: String(index % 10) }));

/** Parts of pipeline files: the join of both lists, and outputs. */
export const joined = 'steps:\n  - join: { with: bridges, on: { bridge_id: id }, as: b, select: [title] }\n';
export const toCsv = 'to:\n  - csv: { path: leads.csv }';
export const toTable = 'to:\n  - parquet: { path: t }';

/** Starts a service of 100 leads and 10 bridges, which change when `lists` does, and makes a folder for the output. */
export async function changingLists() {
  const lists: Lists = { leads: bridged(100), bridges: bridges(10) };
  return { lists, from: await service(changing(lists)), folder: await temporaryFolder() };
}
