import tseslint from 'typescript-eslint';

/**
 * The import table of the design: what each folder of `src` may import of ours, always through the other's `index.ts`.
 * test/unit/architecture.test.ts proves that these rules bite.
 */
export const importTable = {
  collections: [],
  columnar: ['collections'],
  threads: [],
  json: [],
  files: ['errors', 'collections'],
  client: ['errors', 'collections', 'columnar', 'json', 'threads'],
  flow: ['errors', 'collections', 'columnar'],
  service: ['errors', 'collections', 'json'],
  landing: ['errors', 'collections', 'flow', 'files'],
  steps: ['errors', 'collections', 'columnar', 'flow'],
  sinks: ['errors', 'collections', 'columnar', 'threads', 'flow', 'files'],
  source: ['errors', 'collections', 'columnar', 'flow', 'client'],
  pipeline: ['errors', 'collections', 'columnar', 'flow', 'files', 'landing', 'client', 'source', 'steps', 'sinks'],
  // Beside the public API, which its commands load when they run.
  cli: ['errors', 'collections'],
};

/** RxJS operators that queue without bound; pages may wait in `src/flow` only. */
export const queueingOperators = [
  'buffer',
  'bufferCount',
  'bufferTime',
  'bufferToggle',
  'bufferWhen',
  'concatAll',
  'concatMap',
  'concatMapTo',
  'delay',
  'delayWhen',
  'exhaustAll',
  'expand',
  'groupBy',
  'mergeAll',
  'mergeMap',
  'mergeMapTo',
  'mergeScan',
  'observeOn',
  'publish',
  'publishReplay',
  'ReplaySubject',
  'share',
  'shareReplay',
  'toArray',
  'window',
  'windowCount',
  'zip',
  'zipWith',
];

/** What needs the types of a file: promises that nobody waits for, cases that nobody handles, objects that become `[object Object]`. */
const lostWork = {
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/no-misused-promises': 'error',
  '@typescript-eslint/await-thenable': 'error',
  '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
  '@typescript-eslint/switch-exhaustiveness-check': 'error',
  '@typescript-eslint/no-base-to-string': 'error',
  '@typescript-eslint/no-unnecessary-type-assertion': 'error',
  '@typescript-eslint/no-deprecated': 'error',
};

/** An `any` of a library goes no further than the line where it comes in. */
const leakingAny = {
  '@typescript-eslint/no-unsafe-argument': 'error',
  '@typescript-eslint/no-unsafe-assignment': 'error',
  '@typescript-eslint/no-unsafe-call': 'error',
  '@typescript-eslint/no-unsafe-member-access': 'error',
  '@typescript-eslint/no-unsafe-return': 'error',
};

const folders = Object.keys(importTable);

function boundariesOf(folder) {
  const allowed = importTable[folder] ?? [];
  const refused = folders.filter((other) => other !== folder && !allowed.includes(other));
  const patterns = [
    { regex: `(^|/)(${refused.join('|')})(/|$)`, message: `src/${folder} must not import these: see the import table.` },
    {
      regex: `(^|/)(${folders.filter((other) => other !== folder).join('|')})/(?!index\\.js$)`,
      message: 'Enter a folder through its index.',
    },
  ];
  if (folder !== 'cli') patterns.push({ regex: '^\\.\\./(\\.\\./)*index\\.js$', message: 'Only the command line imports the public API.' });
  if (!allowed.includes('errors')) patterns.push({ regex: '/errors\\.js$', message: `src/${folder} imports nothing of ours.` });
  const paths = [];
  if (folder !== 'flow') {
    paths.push({ name: 'rxjs', importNames: queueingOperators, message: 'It queues without bound: waiting happens in src/flow.' });
    patterns.push({ regex: '^rxjs/', message: 'Import from rxjs.' });
  }
  if (folder !== 'client') paths.push({ name: 'got', message: 'Only src/client speaks HTTP as a client.' });
  return {
    files: [`src/${folder}/**/*.ts`],
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { paths, patterns }] },
  };
}

export default tseslint.config(
  { ignores: ['dist/', 'out/', 'coverage/'] },
  ...tseslint.configs.strict,
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: lostWork,
  },
  { files: ['src/**/*.ts'], rules: leakingAny },
  {
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-dynamic-delete': 'off',
      '@typescript-eslint/unified-signatures': 'off',
      'no-restricted-syntax': ['error', { selector: 'ExportDefaultDeclaration', message: 'Exports are named.' }],
      eqeqeq: 'error',
    },
  },
  { files: ['*.config.*'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/cli/**'],
    rules: {
      'no-restricted-properties': ['error', { object: 'process', property: 'exit', message: 'Only the command line ends the process.' }],
    },
  },
  ...Object.keys(importTable).map(boundariesOf),
);
