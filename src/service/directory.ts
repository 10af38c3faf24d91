import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { collectionNames, collections, originalName, type Collection } from '../collections/index.js';
import { amountOf, byName, itemAt, LeadstreamError, reasonOf } from '../core/index.js';
import { isRecord, JsonText, readJson } from '../json/index.js';
import type { DataSource, ServedTable } from './answer.js';

interface FileRow {
  readonly text: string;
  readonly id?: string | undefined;
}

const readers = { csv: csvRows, ndjson: ndjsonRows, jsonl: ndjsonRows } as const;

/**
 * Serves the files of a folder that have the names of collections: `leads.csv`, `leads.ndjson` or `leads.jsonl`. Rows stay in memory as
 * UTF-8.
 *
 * @param declared Collections that a user declared, paged by number. Their NDJSON records are served unchanged.
 * @param log Called with a line per collection (its rows and fields, missing and unknown ones), and with one for files that belong to none.
 * @throws {LeadstreamError} `E_DATA`, with file and line, or CSV record, without content; also for a file or folder with the name of a
 * collection that cannot be served, and for rows without the key.
 *
 * @example
 * await startService({ source: await openDirectory('out'), accounts });
 */
export async function openDirectory(
  directory: string,
  declared: readonly Collection[] = [],
  log: (line: string) => void = () => {},
): Promise<DataSource> {
  const entries = await readdir(directory).catch(() => {
    throw new LeadstreamError('E_DATA', `${directory}: is not a readable folder`);
  });
  for (const { name, served } of declared) {
    const scheme = served?.paging.scheme ?? 'page';
    if (scheme !== 'page') throw new LeadstreamError('E_USAGE', `${name} is paged by ${scheme}; serve supports page numbers only`);
  }
  const tables = new Map<string, ServedTable>();
  const all = Object.values<Collection>({ ...collections, ...Object.fromEntries(declared.map((each) => [each.name, each])) });
  // Similar names count too: a collection must not be empty because its file has another ending or a capital letter.
  const isOf = (name: string, entry: string) => entry.toLowerCase().split('.')[0] === name && !entry.endsWith('.rejects.ndjson');
  for (const collection of all) {
    const { name } = collection;
    const [entry, second] = entries.filter((each) => isOf(name, each)).sort();
    if (entry === undefined) {
      log(`${name}: no file, served without rows`);
      continue;
    }
    if (second !== undefined) throw new LeadstreamError('E_DATA', `${directory}: holds both ${entry} and ${second}; keep one`);
    const file = join(directory, entry);
    const [, read] = Object.entries(readers).find(([extension]) => entry === `${name}.${extension}`) ?? [];
    if (!read) throw new LeadstreamError('E_DATA', `${file}: is not served; convert or rename it to ${name}.csv, .ndjson or .jsonl`);
    const found = new Set<string>();
    const table = await tableOf(read(file, collection, found));
    tables.set(name, table);
    const rows = `${name}: ${amountOf(table.count, 'row')} of ${entry}`;
    log(table.count === 0 && read === ndjsonRows ? rows : `${rows}, ${fieldsIn(file, collection, found)}`);
  }
  const others = entries.sort().filter((entry) => !entry.startsWith('.') && !all.some(({ name }) => isOf(name, entry)));
  if (others.length > 0) log(`not served, since no collection has this name: ${others.join(', ')}`);
  const tableAt = (name: string): ServedTable => tables.get(name) ?? { count: 0, row: () => '', find: () => [] };
  const own = declared.map(({ name }) => name);
  return { ...byName(own, tableAt), ...byName(collectionNames, tableAt) };
}

/**
 * Serves rows by the name of their collection, as `openDirectory` serves NDJSON files.
 *
 * @throws {LeadstreamError} `E_DATA` for rows without the key of their collection.
 *
 * @example
 * await startService({ source: await openRows({ users: [{ uid: '7', email: 'a@b.example' }] }), accounts });
 */
export async function openRows(
  rows: Readonly<Record<string, readonly object[]>>,
  declared: readonly Collection[] = [],
): Promise<DataSource> {
  const folder = await mkdtemp(join(tmpdir(), 'leadstream-rows-'));
  try {
    for (const [name, given] of Object.entries(rows))
      await writeFile(join(folder, `${name}.ndjson`), given.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return await openDirectory(folder, declared);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Compares the fields of a file with its collection's. A file without the key has another separator, no header or a misspelt name. */
function fieldsIn(file: string, collection: Collection, found: ReadonlySet<string>): string {
  const { fields, key, served } = collection;
  const namesIn = (columns: readonly string[]) => columns.map(namesOf(collection)).map((name) => served?.nested.get(name)?.[0] ?? name);
  const known = new Set(namesIn(Object.keys(fields)));
  const [missing, unknown] = [[...known].filter((name) => !found.has(name)), [...found].filter((name) => !known.has(name))];
  const lost = namesIn(key).filter((name) => missing.includes(name));
  const remedy = 'check the names of its fields, and that CSV has a header and commas between its cells';
  if (lost.length > 0) throw new LeadstreamError('E_DATA', `${file}: has no ${lost.join(', ')}, the key of ${collection.name}; ${remedy}`);
  const lists = Object.entries({ missing, unknown }).filter(([, names]) => names.length > 0);
  return [amountOf(found.size, 'field'), ...lists.map(([which, names]) => `${which}: ${names.join(', ')}`)].join('; ');
}

async function tableOf(rows: AsyncIterable<FileRow>): Promise<ServedTable> {
  const texts: Buffer[] = [];
  const positions = new Map<string, number[]>();
  for await (const { text, id } of rows) {
    const position = texts.push(Buffer.from(text)) - 1;
    if (id === undefined) continue;
    const same = positions.get(id);
    if (same) same.push(position);
    else positions.set(id, [position]);
  }
  return { count: texts.length, row: (index) => itemAt(texts, index).toString(), find: (id) => positions.get(id) ?? [] };
}

/** A header is the service's or a column name; others are kept. Blank lines are skipped; an empty cell is an empty string. */
async function* csvRows(file: string, collection: Collection, found: Set<string>): AsyncGenerator<FileRow> {
  const { parse } = await import('fast-csv');
  const records: AsyncIterable<readonly string[]> = pipeline(
    Readable.from(textsOf(file)),
    parse<string[], string[]>({ headers: false }),
    () => {},
  );
  const nameOf = namesOf(collection);
  let names: readonly string[] | undefined;
  let record = 0;
  try {
    for await (const cells of records) {
      if (cells.length === 0) continue;
      record += 1;
      const problem = (message: string) => new LeadstreamError('E_DATA', `${file}: record ${record} ${message}`);
      if (!names) {
        names = cells.map(nameOf);
        const twice = names.findIndex((name, place, all) => all.indexOf(name) < place);
        if (twice >= 0) throw problem(`is the header, and its cell ${twice + 1} repeats a name`);
        for (const name of names) found.add(name);
      } else if (cells.length === names.length) {
        yield rowOf(new Map(names.map((name, cell) => [name, itemAt(cells, cell)])), collection);
      } else {
        throw problem(`has ${cells.length} cells where the header has ${names.length}`);
      }
    }
  } catch (error) {
    if (error instanceof LeadstreamError) throw error;
    // The parser's messages quote the content.
    throw new LeadstreamError('E_DATA', `${file}: is not valid CSV, after record ${record}: check its quotes`);
  }
}

/**
 * A key is the service's or a column name; others are kept. Values become strings: numbers as written, lists and objects as JSON text.
 * `null` is left out, like a field that the service does not send. Records of a declared collection stay unchanged.
 */
async function* ndjsonRows(file: string, collection: Collection, found: Set<string>): AsyncGenerator<FileRow> {
  const nameOf = collection.served ? (key: string) => key : namesOf(collection);
  let line = 0;
  for await (const text of linesOf(file)) {
    line += 1;
    if (text.trim() === '') continue;
    const problem = (message: string) => new LeadstreamError('E_DATA', `${file}:${line} ${message}`);
    const record = readJson(Buffer.from(text));
    if (!isRecord(record)) throw problem('is not a JSON object');
    const row = new Map<string, string>();
    for (const [key, value] of Object.entries(record)) {
      if (value === null) continue;
      const name = nameOf(key);
      if (row.has(name)) throw problem(`names the field ${name} twice`);
      row.set(name, value instanceof JsonText ? value.text : value);
      found.add(name);
    }
    yield collection.served ? { text: text.trim() } : rowOf(row, collection);
  }
}

function rowOf(row: ReadonlyMap<string, string>, collection: Collection): FileRow {
  return { text: JSON.stringify(Object.fromEntries(row)), id: row.get(namesOf(collection)(collection.id)) };
}

function namesOf({ fields }: Collection): (header: string) => string {
  return (header) => {
    const field = Object.hasOwn(fields, header) ? fields[header] : undefined;
    return field ? originalName(header, field) : header;
  };
}

async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const text of textsOf(file)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}

async function* textsOf(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of createReadStream(file)) yield decoder.decode(chunk as Uint8Array, { stream: true });
    yield decoder.decode();
  } catch (error) {
    throw new LeadstreamError('E_DATA', `${file}: cannot be read as UTF-8 text: ${reasonOf(error)}`);
  }
}
