/** @jest-config-loader esbuild-register */
import { availableParallelism } from 'node:os';
import type { Config } from 'jest';

/**
 * The rungs of the ladder: `unit` is pure and in process, `system` uses the service, files and the command, `soak` is what needs many
 * kills, seeds or rows. `npm test` climbs the first two by `rooms`, each of which runs many of their suites in one process, in half of
 * the time; a suite by itself is `npm run jest -- its/path`.
 *
 * Tests run as native ES modules, because got is one; `npm run jest` sets the Node option that this needs, and two by which the workers'
 * garbage collectors leave the cores to the tests.
 */
const rung = (name: string) => ({
  displayName: name,
  testEnvironment: '<rootDir>/test/support/environment.ts',
  roots: [`<rootDir>/test/${name}`],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  // What examples import by the name of the package is its source, as for the compiler.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1', '^leadstream$': '<rootDir>/src/leadstream.ts' },
  // Most of what is imported without an extension, as far as jest sees it, is of TypeScript.
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  transform: {
    '\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } }],
  },
});

const config: Config = {
  projects: ['unit', 'system', 'soak', 'rooms'].map(rung),
  testSequencer: '<rootDir>/test/support/order.js',
  // A project's own time limit is ignored. A test that hangs is ended; none is measured by this.
  testTimeout: 120_000,
  // Many tests wait for another process, a timer or a thread; one worker more than there are cores keeps these busy.
  maxWorkers: availableParallelism() + 1,
};

export default config;
