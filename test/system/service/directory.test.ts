import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDirectory } from '../../../src/service/index.js';
import { folderWith } from '../../support/temporary.js';
import { rowsAt, served, type TextRow } from './support.js';

const rowsIn = async (files: Record<string, string>, path: string): Promise<TextRow[]> =>
  rowsAt(await served({ source: await openDirectory(await folderWith(files)) }), path);

describe('a folder of files', () => {
  test('serves a CSV with quoted commas, quotes and line breaks, CRLF or CR, and a byte order mark', async () => {
    expect(await rowsIn({ 'users.csv': '\uFEFF"uid","email"\r1,a\r' }, 'users')).toEqual([{ uid: '1', email: 'a' }]);
    const csv = '\uFEFFuid,email,affid\r\n1,"a, ""b""\r\nc",\r\n\r\n"02",d,9';
    expect(await rowsIn({ 'users.csv': csv }, 'users')).toEqual([
      { uid: '1', email: 'a, "b"\r\nc', affid: '' },
      { uid: '02', email: 'd', affid: '9' },
    ]);
  });

  test('maps columns back to the names of the service and keeps unknown headers', async () => {
    const csv = 'lead_id,lead_accepted,CONVERTED ON OFFER,psid,ip_address,Shoe Size\n1,Yes,No,p,192.0.2.1,43\n';
    expect(await rowsIn({ 'leads.csv': csv }, 'leads')).toEqual([
      { lead_id: '1', 'LEAD ACCEPTED': 'Yes', 'CONVERTED ON OFFER': 'No', PSID: 'p', IPAddress: '192.0.2.1', 'Shoe Size': '43' },
    ]);
  });

  test.each(['ndjson', 'jsonl'])('serves .%s with values as text, and leaves out what is null', async (extension) => {
    const lines = '{"lead_id":1,"lead_accepted":true,"age":null,"meta":{"a":[1]},"firstname":"Zoë"}\n\n{"lead_id":"2","extra":1.5}';
    expect(await rowsIn({ [`leads.${extension}`]: lines }, 'leads')).toEqual([
      { lead_id: '1', 'LEAD ACCEPTED': 'true', meta: '{"a":[1]}', firstname: 'Zoë' },
      { lead_id: '2', extra: '1.5' },
    ]);
  });

  test('serves numbers as they are written', async () => {
    const lines = '{"uid":12345678901234567890,"email":1.10,"affid":1e400,"Shoe Size":-0,"list":[1.0, {"a": 1E5}]}';
    expect(await rowsIn({ 'users.ndjson': lines }, 'users')).toEqual([
      { uid: '12345678901234567890', email: '1.10', affid: '1e400', 'Shoe Size': '-0', list: '[1.0,{"a":1E5}]' },
    ]);
  });

  test('finds by identifier, and every row when several share it', async () => {
    const csv = 'area_code,city,state\n212,New York,NY\n213,Los Angeles,CA\n212,Bronx,NY\n';
    expect(await rowsIn({ 'areacodes.csv': csv }, 'areacodes/212')).toEqual([
      { area_code: '212', city: 'New York', state: 'NY' },
      { area_code: '212', city: 'Bronx', state: 'NY' },
    ]);
    expect(await rowsIn({ 'areacodes.csv': csv }, 'areacodes/999')).toEqual([]);
    expect(await rowsIn({ 'users.ndjson': '{"uid":"1"}\n{"email":"a"}' }, 'users/undefined')).toEqual([]);
  });

  test('serves an empty collection where a file is missing, a header alone, or NDJSON without a row', async () => {
    const files = { 'users.csv': 'uid,email\n', 'bridges.ndjson': '\n', 'notes.txt': 'x' };
    for (const path of ['users', 'bridges', 'leads', 'links', 'leads/1']) expect(await rowsIn(files, path)).toEqual([]);
  });

  test('is described: rows and fields by collection, those that are missing or unknown, and the files of no collection', async () => {
    const files = { 'users.csv': 'uid,email,Shoe Size\n1,a,43\n2,b,44\n', 'links.jsonl': '', '.users.csv.lock': '' };
    const lines: string[] = [];
    const folder = await folderWith({ ...files, 'lead.csv': '', 'users.csv.rejects.ndjson': '' });
    await openDirectory(folder, [], (line) => lines.push(line));
    expect(lines).toEqual([
      ...['leads', 'bridges', 'areacodes'].map((name) => `${name}: no file, served without rows`),
      'links: 0 rows of links.jsonl',
      'users: 2 rows of users.csv, 3 fields; missing: affid; unknown: Shoe Size',
      'not served, since no collection has this name: lead.csv, users.csv.rejects.ndjson',
    ]);
  });

  test('keeps a field called __proto__ as a field', async () => {
    const rows = await rowsIn({ 'users.ndjson': '{"uid":"1","__proto__":"x"}' }, 'users');
    expect(JSON.stringify(rows)).toBe('[{"uid":"1","__proto__":"x"}]');
  });
});

describe('a malformed file is refused with its place, and without its content', () => {
  test.each([
    ['a record with a missing cell', 'users.csv', 'uid,email\n1,"a\nb"\n\n2\n', ': record 3 has 1 cells'],
    ['a quote that is never closed', 'users.csv', 'uid,email\n1,a\n2,"secret\n3,c\n', ': is not valid CSV, after record '],
    ['a header that is a record', 'users.csv', '7,secret,secret\n', ': record 1 is the header, and its cell 3 '],
    ['a line that is no JSON', 'users.ndjson', '{"uid":"1"}\n\n{"uid":secret\n', ':3 is not a JSON object'],
    ['a key under both its names', 'leads.ndjson', '{"psid":"1","PSID":"2"}', ':1 names the field PSID twice'],
  ])('for %s', async (_, file, content, problem) => {
    const directory = await folderWith({ [file]: content });
    const refused = openDirectory(directory);
    await expect(refused).rejects.toMatchObject({ code: 'E_DATA', message: expect.stringContaining(join(directory, file) + problem) });
    await expect(refused).rejects.toMatchObject({ message: expect.not.stringContaining('secret') });
  });

  test('for bytes that are not UTF-8', async () => {
    const directory = await folderWith({ 'users.csv': Uint8Array.from([0x75, 0x69, 0x64, 0x0a, 0xff, 0x0a]) });
    await expect(openDirectory(directory)).rejects.toMatchObject({ code: 'E_DATA', message: expect.stringContaining('users.csv:') });
  });

  const names = 'users users.json Users.csv users.CSV users.csv.gz users.parquet USERS.NDJSON users.csv.bak'.split(' ');
  const csvs = `|\uFEFF|\n\n|uid;email\n1;a\n|uid\temail\n|'uid','email'\n|"uid,email"\n|UID,email\n|1,a\n2,b\n|u\0i\0d\0`.split('|');
  test.each([
    ...names.map((name) => [name, 'uid\n1\n']),
    ...csvs.map((csv) => ['users.csv', csv]),
    ...['[{"uid":"1"}]', '5', '{"uidd":"1"}\n{"uid":null}'].map((json) => ['users.ndjson', json]),
    ['areacodes.csv', 'area_code,city\n212,New York\n'],
  ])('for %s with %j', async (name, content) => {
    const folder = await folderWith({ [name]: content });
    await expect(openDirectory(folder)).rejects.toMatchObject({ code: 'E_DATA', message: expect.stringContaining(join(folder, name)) });
  });

  test.each<[string, string, (path: string) => Promise<unknown>]>([
    ['two files of one collection', 'holds both users.csv and users.ndjson; keep one', (path) => writeFile(path, 'uid\n')],
    ['a folder', 'users.csv: cannot be read as UTF-8', (path) => mkdir(path)],
    ['a link to nothing', 'users.csv: cannot be read as UTF-8', (path) => symlink('nowhere', path)],
  ])('for %s', async (title, message, make) => {
    const folder = await folderWith(title.startsWith('two') ? { 'users.ndjson': '' } : {});
    await make(join(folder, 'users.csv'));
    await expect(openDirectory(folder)).rejects.toMatchObject({ code: 'E_DATA', message: expect.stringContaining(message) });
  });
});
