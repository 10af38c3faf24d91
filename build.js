import { chmod, readFile, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';
import { build } from 'esbuild';
import { build as bundle } from 'rolldown';

/**
 * Builds the code in `dist`; tsc builds the declarations. A few large files load in a fifth of the time of our hundreds of files, and code that is imported
 * when it is used stays separate. All code is in `dist` itself, next to the files of the threads, where it looks for them.
 */
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
};

/** In the command, zod is part of the bundle, and runs when it is first needed. */
const zodWithin = (source) => replaced(source, "nodeRequire()('zod')", "require('zod')");

/** Leaves out zod's messages in other languages. */
const zodInEnglish = edit(/zod\/v4\/locales\/index\.js$/, 'js', () => "export { default as en } from './en.js';");

/** Loads the library with which yargs measures words only for a help text: its list of all emojis takes 20 ms to build. */
const widthsWhenUsed = {
  name: 'widths when used',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^string-width$/ }, ({ importer }) => ({ path: importer, namespace: 'width' }));
    onLoad({ filter: /.*/, namespace: 'width' }, ({ path }) => {
      const package_ = JSON.stringify(createRequire(path).resolve('string-width'));
      const contents = `let width; export default (...words) => (width ??= require(${package_}).default)(...words);`;
      return { contents, resolveDir: process.cwd() };
    });
  },
};

/** Replaces `import.meta.url` in a CommonJS bundle. */
const urlWithin = {
  define: { 'import.meta.url': '$url' },
  banner: { js: "const $url = require('node:url').pathToFileURL(__filename).href;" },
};

const { version } = JSON.parse(await readFile('package.json', 'utf8'));
const withVersion = (source) =>
  source.replace('(nodeRequire()(manifest) as { readonly version: string }).version', JSON.stringify(version));
const packageWithin = edit(/src\/core\/package\.ts$/, 'ts', (source) => zodWithin(withVersion(source)));

/** In the module, zod comes from the condition in `imports` of package.json: as a module for a bundler, and in Node loaded when it is used. */
const zodByImport = (source) =>
  `import { load } from '#zod';\n${replaced(source, "(nodeRequire()('zod') as { readonly z: Zod }).z", 'load() as Zod')}`;

/** Marks the initializers of our constants as free of side effects, so that a program that bundles the module can leave out unused ones. */
const pureConstants = (source) => source.replaceAll(/^((?:export )?const \w+(?:: [^=\n]+)? = )(?=\w+\()/gm, '$1/* @__PURE__ */ ');

/**
 * The module: a program that imports it has the packages, and shares RxJS with it. What it loads at once is one file, since Node takes half a millisecond for
 * each; what it loads when it is used is separate. Rolldown splits code that way, while esbuild makes twenty files of what is one here.
 */
const library = {
  platform: 'node',
  // The last two are for tests.
  input: {
    ...Object.fromEntries(['leadstream', 'pipelines', 'tables', 'testing', 'service/index'].map((name) => [name, `src/${name}.ts`])),
    index: 'src/index.ts',
    'source/fetch/fetching': 'src/source/fetch/fetching.ts',
  },
  external: (id) => !id.startsWith('.') && !id.startsWith('src/') && !isAbsolute(id),
  plugins: [changed(/src\/core\/package\.ts$/, (source) => zodByImport(withVersion(source))), changed(/\/src\/.*\.ts$/, pureConstants)],
  treeshake: { moduleSideEffects: false },
  output: {
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'chunk-[hash].js',
    codeSplitting: { groups: [{ name: 'library', test: /src\/leadstream\.ts$/ }] },
  },
};

/**
 * The command and the threads, which share nothing with other code. Each is a script that includes the packages that most of its processes load. Parts that a
 * process does not need do not run.
 */
const command = {
  ...common,
  ...urlWithin,
  entryPoints: {
    command: 'src/cli/process.ts',
    'encoding-worker': 'src/parquet/engines/arrow/encoding-worker.ts',
  },
  format: 'cjs',
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  // WebAssembly, which is kept next to the code, data, and what few runs need.
  external: ['@bokuweb/zstd-wasm', 'parquet-wasm', 'parquetjs-lite', 'zipcodes'],
  // Their exports for `require` and for Node are CommonJS, from which nothing can be left out.
  alias: { rxjs: resolve('node_modules/rxjs/dist/esm/index.js'), zod: resolve('node_modules/zod/index.js') },
  plugins: [packageWithin, zodInEnglish, widthsWhenUsed],
};

/** The thread that fetches never loads zod, which is half of what Node would have to parse. */
const fetching = {
  ...command,
  entryPoints: { 'fetching-worker': 'src/source/fetch/fetching-worker.ts' },
  plugins: [edit(/src\/core\/package\.ts$/, 'ts', withVersion)],
};

/** Starts the command. */
const main = { ...common, ...urlWithin, entryPoints: ['src/cli/main.ts'], format: 'cjs', outfile: 'dist/cli/main.cjs' };

/** zod in a separate file, loaded when it is first needed: one file instead of a hundred, without its messages in other languages. */
const zod = {
  ...common,
  stdin: { contents: "export { z } from 'zod';", resolveDir: process.cwd() },
  format: 'cjs',
  outfile: 'dist/zod.cjs',
  plugins: [zodInEnglish],
};

/** zod as a module, for programs that bundle it, with only what is used of it, which is half. */
const zodModule = {
  ...zod,
  stdin: { contents: zodByName(await usedOfZod()), resolveDir: process.cwd() },
  format: 'esm',
  minify: true,
  outfile: 'dist/zod-module.js',
};

/** Returns the functions of zod that our sources call, as `z.string()` or `zod().toJSONSchema(…)`. */
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

/** Returns a Rolldown plugin that changes the text of files. */
function changed(filter, change) {
  return { name: String(filter), transform: { filter: { id: filter }, handler: (source) => change(source) } };
}

/** Returns an esbuild plugin that changes the text of a file. */
function edit(filter, loader, change) {
  return {
    name: String(filter),
    setup: ({ onLoad }) => onLoad({ filter }, async ({ path }) => ({ contents: change(await readFile(path, 'utf8')), loader })),
  };
}

/** Replaces a part of a text, which must contain it. */
function replaced(source, part, by) {
  if (!source.includes(part)) throw new Error(`a source is not as the build expects: it has no ${part}`);
  return source.replace(part, by);
}

/** Lists the packages whose code is in the build, each with its licence and its notice. */
async function licences(metafiles) {
  const files = metafiles.flatMap(({ outputs }) => Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs)));
  const folders = new Set(files.flatMap((file) => /^node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
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

await bundle(library);
const bundles = await Promise.all([command, fetching, main, zod, zodModule].map(build));
await writeFile(
  'dist/zod-required.js',
  "import { createRequire } from 'node:module';\nexport const load = () => createRequire(import.meta.url)('./zod.cjs').z;\n",
);
await writeFile('dist/LICENSES.txt', await licences(bundles.map(({ metafile }) => metafile)));
await chmod('dist/cli/main.cjs', 0o755);
