/** Bundles a program: `node bundle.mjs BUNDLER ENTRY OUTFILE`. Runs in a separate process, because bundlers do not work in the realms of tests. */
import { dirname } from 'node:path';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { build } from 'esbuild';
import { rollup } from 'rollup';
import { build as viteBuild } from 'vite';

const external = ['got', 'rxjs'];
const [bundler, entry, outfile] = process.argv.slice(2);

const byEsbuild = (format, minify) => () =>
  build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format,
    minify,
    external,
    logLevel: 'error',
  });

const bundlers = {
  'esbuild as a module': byEsbuild('esm', false),
  'esbuild as a small module': byEsbuild('esm', true),
  'esbuild as CommonJS': byEsbuild('cjs', false),
  rollup: async () => {
    const bundle = await rollup({
      input: entry,
      external: (id) => !/^(?:[./#]|leadstream)/.test(id),
      plugins: [nodeResolve()],
      onwarn: () => {},
    });
    await bundle.write({ file: outfile, format: 'es', inlineDynamicImports: true });
    await bundle.close();
  },
  vite: () =>
    viteBuild({
      root: dirname(entry),
      logLevel: 'silent',
      configFile: false,
      ssr: { noExternal: ['leadstream'], external },
      build: {
        ssr: entry,
        emptyOutDir: false,
        outDir: dirname(outfile),
        rolldownOptions: { output: { entryFileNames: outfile.slice(dirname(outfile).length + 1) } },
      },
    }),
};
await bundlers[bundler]();
