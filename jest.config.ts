/** @jest-config-loader esbuild-register */
import type { Config } from 'jest';

/** Tests run as native ES modules, because got is one; `npm run jest` sets the Node option that this needs. */
const config: Config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } }],
  },
  testTimeout: 60_000,
};

export default config;
