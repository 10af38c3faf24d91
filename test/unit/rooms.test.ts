import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { rooms, suites } from '../support/suites.js';

test('each suite runs in one room, and each room by a file of its name', async () => {
  const patterns = Object.values(rooms);
  expect((await suites()).filter((suite) => patterns.filter((pattern) => pattern.test(suite)).length !== 1)).toEqual([]);
  const folderOf = (room: string) => `test/${room.startsWith('heavy-') ? 'heavy-rooms' : 'rooms'}`;
  for (const folder of ['test/rooms', 'test/heavy-rooms'])
    expect((await readdir(folder)).sort()).toEqual(
      Object.keys(rooms).flatMap((room) => (folderOf(room) === folder ? [`${room}.test.ts`] : [])),
    );
  for (const room of Object.keys(rooms))
    expect(await readFile(`${folderOf(room)}/${room}.test.ts`, 'utf8')).toContain(`runRoom('${room}')`);
});

test('no suite has a hook that would be run for the other tests of its room', async () => {
  const withHook: string[] = [];
  for (const suite of await suites()) {
    if (/^(before|after)Each\(/m.test(await readFile(join('test', suite), 'utf8'))) withHook.push(suite);
  }
  expect(withHook).toEqual([]);
});
