import { chmod, readFile, readdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

/**
 * Makes the code of `dist`; tsc makes the declarations. What hundreds of files of ours take to load, some large ones take a fifth of, and what is
 * imported when it is used stays apart. All chunks are in `dist` itself, beside the files of the threads, which they look for there.
 */
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
};

/** What is loaded by a path of its own, or must find its own files. */
const zodApart = edit(/src\/core\/schema\.ts$/, 'ts', (source) => source.replace("nodeRequire()('zod')", "nodeRequire()('./zod.cjs')"));

/** In the module, whoever bundles it gets zod as a module, by the condition in `imports` of package.json, and Node loads it when it is used. */
const zodByImport = edit(/src\/core\/schema\.ts$/, 'ts', (source) =>
  source
    .replace("import { nodeRequire } from './node-require.js';", "import { load } from '#zod';")
    .replace("(nodeRequire()('zod') as { readonly z: Zod }).z", 'load() as Zod'),
);

const { version } = JSON.parse(await readFile('package.json', 'utf8'));
const versionWithin = edit(/src\/core\/version\.ts$/, 'ts', (source) =>
  source.replace('(nodeRequire()(manifest) as { readonly version: string }).version', JSON.stringify(version)),
);

/** What a constant of ours is made by has no other effect: whoever bundles the module may leave out those that nothing uses. */
const pureConstants = {
  name: 'pure constants',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      return { contents: source.replaceAll(/^((?:export )?const \w+(?:: [^=\n]+)? = )(?=\w+\()/gm, '$1/* @__PURE__ */ '), loader: 'ts' };
    }),
};

const modules = {
  ...common,
  splitting: true,
  format: 'esm',
  outdir: 'dist',
  outbase: 'src',
  chunkNames: 'chunk-[hash]',
};

/** The module: whoever imports it has the packages, and shares RxJS with it. */
const library = {
  ...modules,
  // The last two are for tests.
  entryPoints: [
    ...['leadstream', 'pipelines', 'tables', 'testing', 'service/index'].map((entry) => `src/${entry}.ts`),
    'src/index.ts',
    'src/source/fetch/fetching.ts',
  ],
  packages: 'external',
  external: ['#zod'],
  plugins: [zodByImport, versionWithin, pureConstants],
};

/** The command and the threads, which share nothing with anybody: with the packages that most of them load. */
const command = {
  ...modules,
  entryPoints: {
    'cli/main': 'src/cli/main.ts',
    'fetching-worker': 'src/source/fetch/fetching-worker.ts',
    'encoding-worker': 'src/parquet/engines/arrow/encoding-worker.ts',
  },
  // WebAssembly beside the code, data, and what few runs need.
  external: [
    '@bokuweb/zstd-wasm',
    '@hono/node-server',
    'hono',
    'hyparquet',
    'hyparquet-writer',
    'parquet-wasm',
    'parquetjs-lite',
    'zipcodes',
  ],
  // Its export for Node is CommonJS, of which nothing can be left out.
  alias: { rxjs: resolve('node_modules/rxjs/dist/esm/index.js') },
  // For packages in CommonJS that require what Node has.
  banner: { js: "import { createRequire as $createRequire } from 'node:module'; const require = $createRequire(import.meta.url);" },
  plugins: [zodApart, versionWithin],
};

/** zod by itself, for whoever needs it first: one file instead of a hundred, without its messages in other languages. */
const zod = {
  ...common,
  stdin: { contents: "export { z } from 'zod';", resolveDir: process.cwd() },
  format: 'cjs',
  outfile: 'dist/zod.cjs',
  plugins: [edit(/zod\/v4\/locales\/index\.js$/, 'js', () => "export { default as en } from './en.js';")],
};

/** The same as a module, for those who bundle it: with what is used of it alone, which is half. */
const zodModule = {
  ...zod,
  stdin: { contents: zodByName(await usedOfZod()), resolveDir: process.cwd() },
  format: 'esm',
  minify: true,
  outfile: 'dist/zod-module.js',
};

/** The functions of zod that our sources call, as `z.string()` or `zod().toJSONSchema(…)`. */
async function usedOfZod() {
  const files = (await readdir('src', { recursive: true })).filter((file) => file.endsWith('.ts'));
  const texts = await Promise.all(files.map((file) => readFile(join('src', file), 'utf8')));
  const names = texts.flatMap((text) => Array.from(text.matchAll(/\b(?:z|zod\(\))\.([a-z]\w*)/g), ([, name]) => name));
  const { z } = await import('zod');
  // The others are types.
  return [...new Set(names)].filter((name) => name in z && name !== 'core').toSorted();
}

function zodByName(names) {
  const [imported, given] = [names.map((name) => `${name} as ${name}_`), names.map((name) => `${name}: ${name}_`)];
  return `import { ${imported.join(', ')} } from 'zod'; export const load = () => ({ ${given.join(', ')} });`;
}

/** A plugin that changes the text of a file. */
function edit(filter, loader, change) {
  return {
    name: String(filter),
    setup: ({ onLoad }) =>
      onLoad({ filter }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        const contents = change(source);
        if (contents === source) throw new Error(`${path} is not as expected`);
        return { contents, loader };
      }),
  };
}

/** The packages whose code is in what was built, each with its licence and its notice. */
async function licences(metafiles) {
  const files = metafiles.flatMap(({ outputs }) => Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs)));
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const texts = [...folders]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map(async (folder) => {
      const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
      const files = (await readdir(folder)).filter((each) => /^(?:licen[cs]e|notice)(?:\.|$)/i.test(each));
      const texts = await Promise.all(files.map(async (file) => (await readFile(join(folder, file), 'utf8')).trim()));
      return `${name} ${version} (${license})\n\n${texts.join('\n\n') || 'It has no text of a licence.'}\n`;
    });
  return (await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n\n`);
}

await build(library);
const bundles = [await build(command), await build(zod), await build(zodModule)];
await writeFile(
  'dist/zod-required.js',
  "import { createRequire } from 'node:module';\nexport const load = () => createRequire(import.meta.url)('./zod.cjs').z;\n",
);
await writeFile('dist/LICENSES.txt', await licences(bundles.map(({ metafile }) => metafile)));
await chmod('dist/cli/main.js', 0o755);
