import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { blocksIn, exportsOf, guide, linksIn } from '../support/doc-comments.js';
import { start } from '../support/cli.js';

const entries = {
  leadstream: 'src/leadstream.ts',
  'leadstream/pipeline': 'src/pipelines.ts',
  'leadstream/parquet': 'src/tables.ts',
  'leadstream/service': 'src/service/index.ts',
  'leadstream/testing': 'src/testing.ts',
};

const pages = ['README.md', ...guide, 'src/service/README.md'];
const others = [
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'pipelines/REFERENCE.md',
  'examples/nightly/README.md',
  'examples/container/README.md',
];

test.each(Object.entries(entries))(
  'everything that %s exports says what it is, and every value shows how it is used',
  async (_entry, file) => {
    const all = await exportsOf(file);
    expect(all).not.toEqual([]);
    expect(all.flatMap(({ name, comment }) => (comment === undefined ? [name] : []))).toEqual([]);
    expect(all.flatMap(({ name, typeOnly, examples }) => (typeOnly || examples.length > 0 ? [] : [name]))).toEqual([]);
  },
);

/** What an example may use without importing it, by the module that has it. The first that has a name gives it. */
async function namesByModule(): Promise<ReadonlyMap<string, readonly string[]>> {
  const prelude = await readFile('test/support/doc-examples.ts', 'utf8');
  const names = new Map([
    [
      '../test/support/doc-examples.js',
      [...prelude.matchAll(/^export (?:declare )?(?:const|function) (\w+)/gm)].map(([, name = '']) => name),
    ],
  ]);
  const namesOf = async (file: string) => (await exportsOf(file)).map(({ name }) => name);
  for (const [entry, file] of Object.entries(entries)) names.set(entry, await namesOf(file));
  names.set('rxjs', ['defer', 'distinct', 'lastValueFrom', 'map', 'retry', 'scan', 'take', 'throwError', 'timer']);
  names.set('node:fs/promises', ['writeFile']);
  names.set('node:fs', ['readFileSync']);
  names.set('zod', ['z']);
  return names;
}

const declarationsOf = (file: string) => file.replace(/^src/, '../../dist').replace(/\.ts$/, '.d.ts');

/** An example as a module: what it uses is imported, and it stands in a function that is never called. */
function moduleOf(example: string, modules: ReadonlyMap<string, readonly string[]>): string {
  const imports = example.match(/^import [^;]*;$/gm) ?? [];
  const body = example.replaceAll(/^import [^;]*;$/gm, '').replaceAll(/^export (?=const )/gm, '');
  const declared = new Set(
    [...imports, ...(body.match(/\b(?:const|let) (?:\{[^}]*\}|\[[^\]]*\]|[\w$]+)/g) ?? [])].join(' ').match(/[\w$]+/g),
  );
  const used = new Set(body.replaceAll(/(?<!:)\/\/.*$/gm, '').match(/(?<![\w'$]|(?<!\.\.)\.)[A-Za-z_]\w*/g));
  const taken = new Set<string>();
  const lines = [...modules].flatMap(([module, names]) => {
    const wanted = [...new Set(names)].filter((name) => used.has(name) && !declared.has(name) && !taken.has(name));
    for (const name of wanted) taken.add(name);
    return wanted.length > 0 ? [`import { ${wanted.join(', ')} } from '${module}';`] : [];
  });
  return [...lines, ...imports, 'export async function example() {', body, '}'].join('\n');
}

test.each([...pages, ...others])('what %s links to is there', async (page) => {
  const missing = (await linksIn(page)).map(async ({ path, anchor }) => {
    const target = path === '' ? page : join(dirname(page), path);
    const isThere = await (anchor === undefined ? access(target) : readFile(target, 'utf8')).then(
      (text) => anchor === undefined || anchorsIn(text ?? '').has(anchor),
      () => false,
    );
    return isThere ? [] : [`${path}#${anchor}`];
  });
  expect((await Promise.all(missing)).flat()).toEqual([]);
});

test.each(['ARCHITECTURE.md', 'CONTRIBUTING.md'])('the files and folders that %s names are there', async (page) => {
  const named = (await readFile(page, 'utf8')).matchAll(/`((?:[\w-]+\/)*[\w-]+(?:\.\w+)*(?:\.(?:ts|js|txt)|\/))`/g);
  const there = (await Promise.all(['src', 'test'].map((folder) => readdir(folder, { recursive: true })))).flat();
  // A file without a folder is one of the folder named before it.
  const known = new Set([...there, ...there.map((path) => basename(path)), ...(await readdir('.'))]);
  const missing = [...named].map(([, path = '']) => path.replace(/^(?:src|test)\/|\/$/g, '')).filter((path) => !known.has(path));
  expect(missing).toEqual([]);
});

/** The names that GitHub gives to the headings of a page. */
function anchorsIn(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase());
  return new Set(headings.map((heading) => heading.replaceAll(/[^\w\- ]/g, '').replaceAll(' ', '-')));
}

test('every example in a comment or a page compiles', async () => {
  const modules = await namesByModule();
  const comments = (await Promise.all(Object.values(entries).map((file) => exportsOf(file)))).flat();
  const examples = new Map(comments.map(({ name, file, examples: own }) => [`${file.replaceAll(/\W/g, '-')}-${name}`, own]));
  for (const page of pages) examples.set(page.replaceAll(/\W/g, '-'), await blocksIn(page));
  const listed = [...(await readFile('pipelines/guide/embedding.md', 'utf8')).matchAll(/^\| `(\w+)` +\|/gm)].map(
    ([, name]) => `${name}: 0`,
  );
  examples.set('options-of-connect', [`const all: Record<keyof ConnectOptions, unknown> = { ${listed.join(', ')} };`]);
  await mkdir('out', { recursive: true });
  const folder = await mkdtemp(join('out', 'examples-'));
  try {
    let count = 0;
    for (const [name, texts] of examples)
      for (const [index, text] of texts.entries()) {
        count += 1;
        await writeFile(join(folder, `${name}-${index}.ts`), moduleOf(text, modules).replaceAll("'../test/", "'../../test/"));
      }
    expect(count).toBeGreaterThan(70);
    // The declarations that were built: nobody has to check the code once more.
    const paths = Object.fromEntries(Object.entries(entries).map(([entry, file]) => [entry, [declarationsOf(file)]]));
    const compilerOptions = {
      paths,
      noUnusedLocals: false,
      noUnusedParameters: false,
      verbatimModuleSyntax: false,
      noImplicitReturns: false,
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'] }));
    const { stdout } = await start(join('node_modules', '.bin', 'tsc'), ['-p', folder], { cwd: process.cwd() }).finished;
    expect(stdout.replaceAll(folder, '')).toBe('');
  } finally {
    await rm(folder, { recursive: true });
  }
});
