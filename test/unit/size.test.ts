import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** What may not grow: size is a cost, paid by every reader. A change that shrinks the code lowers the numbers of `test/size.json`. */
interface Size {
  readonly files: number;
  readonly lines: number;
  /** Lines that are neither blank nor comment. */
  readonly code: number;
  readonly characters: number;
  /** Lines of more than 140 characters. */
  readonly long: number;
}

async function sizeOf(folder: string): Promise<Size> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const lines = texts.flatMap((text) => text.replace(/\n$/, '').split('\n'));
  return {
    files: names.length,
    lines: lines.length,
    code: lines.filter((line) => !/^\s*(?:$|\/\/|\/\*|\*(?:\s|\/|$))/.test(line)).length,
    characters: lines.reduce((sum, line) => sum + line.length, 0),
    long: lines.filter((line) => line.length > 140).length,
  };
}

test.each(['src', 'test'] as const)('%s is not larger than test/size.json says', async (folder) => {
  const most = (JSON.parse(await readFile('test/size.json', 'utf8')) as Readonly<Record<'src' | 'test', Size>>)[folder];
  const size = await sizeOf(folder);
  const grown = Object.entries(size).filter(([name, value]) => !(value <= (most[name as keyof Size] ?? 0)));
  expect({ folder, grown }).toEqual({ folder, grown: [] });
});

test('src is TypeScript and nothing else, but for the page of the service', async () => {
  const entries = await readdir('src', { recursive: true, withFileTypes: true });
  expect(entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.ts')).map(({ name }) => name)).toEqual(['README.md']);
});
