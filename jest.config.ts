/** @jest-config-loader esbuild-register */
import { existsSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Config } from 'jest';

/**
 * The levels of tests: `unit` is pure and in process, `system` uses the service, files and the command, `heavy` needs programs of others (an object store, a
 * catalog, readers in Python) or many kills, `release` tests what we ship (the package, the examples, the files as others read them), and `soak` needs hundreds
 * of kills, random seeds or other compilers and runtimes. `npm test` runs the first two as `rooms`, each of which runs many of their suites in one process, in
 * half of the time; `heavy` runs as `heavy-rooms`. A single suite runs with `npm run jest -- its/path`.
 *
 * Tests run as native ES modules, because got is one. `npm run jest` sets the Node option that this needs, and two that make the workers' garbage collectors
 * leave the cores to the tests.
 */
const rung = (name: string) => ({
  displayName: name,
  testEnvironment: '<rootDir>/test/support/environment.ts',
  setupFiles: ['<rootDir>/test/support/draws.ts'],
  roots: [`<rootDir>/test/${name}`],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  // Examples import the package by its name, which here is its source, as for the compiler.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1', '^leadstream$': '<rootDir>/src/leadstream.ts' },
  // Most imports without an extension, as far as jest sees them, are TypeScript.
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  transform: {
    '\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } }],
  },
});

// Tests write many small files as durably as a run does. Where there is room in memory, they do not wait for a disk.
const memory = '/dev/shm';
if (existsSync(memory) && statfsSync(memory).bavail * statfsSync(memory).bsize > 2 ** 31) process.env['TMPDIR'] ??= memory;

const config: Config = {
  projects: ['unit', 'system', 'heavy', 'release', 'soak', 'rooms', 'heavy-rooms'].map(rung),
  testSequencer: '<rootDir>/test/support/order.js',
  // A project's own time limit is ignored. This limit ends a test that hangs; no test measures anything by it.
  testTimeout: 300_000,
  // Many tests wait for another process, a timer or a thread; one more worker than there are cores keeps the cores busy.
  maxWorkers: availableParallelism() + 1,
};

export default config;
