/**
 * The import table of the design: what each folder of `src` may import from the others, always through their `index.ts`. test/release/architecture.test.ts proves
 * that these rules work.
 */
export const importTable = {
  core: [],
  events: ['core'],
  json: ['core'],
  threads: [],
  options: ['core'],
  collections: ['core'],
  vector: ['core'],
  http: ['core', 'options', 'events'],
  store: ['core'],
  flow: ['core', 'options', 'vector'],
  source: ['core', 'options', 'events', 'json', 'threads', 'collections', 'vector', 'http', 'store', 'flow'],
  engine: ['core', 'options', 'vector', 'store', 'flow'],
  steps: ['core', 'options', 'json', 'collections', 'vector', 'flow', 'engine'],
  parquet: ['core', 'options', 'threads', 'vector'],
  lake: ['core', 'options', 'json', 'vector', 'http', 'flow', 'store', 'parquet'],
  sinks: ['core', 'options', 'vector', 'flow', 'store', 'engine', 'parquet', 'lake'],
  plan: ['core', 'options', 'collections', 'vector', 'http', 'flow', 'store', 'source', 'steps', 'lake', 'sinks', 'service'],
  run: ['core', 'options', 'events', 'collections', 'vector', 'http', 'flow', 'store', 'source', 'steps', 'lake', 'sinks', 'plan'],
  shards: ['core', 'options', 'json', 'collections', 'vector', 'http', 'flow', 'store', 'source', 'lake', 'plan', 'run'],
  doctor: ['core', 'options', 'events', 'collections', 'vector', 'http', 'flow', 'source'],
  service: ['core', 'options', 'json', 'collections'],
  'pipeline-tests': ['core', 'json', 'collections', 'flow', 'store', 'parquet', 'sinks', 'plan', 'run', 'service'],
  // Plus the public API, which its commands load when they run.
  cli: ['core', 'collections', 'store', 'service', 'doctor', 'pipeline-tests'],
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

/** Rules that need the types of a file: promises that nothing awaits, cases that nothing handles, objects that become `[object Object]`. */
const lostWork = {
  'typescript/no-floating-promises': 'error',
  'typescript/no-misused-promises': 'error',
  'typescript/await-thenable': 'error',
  'typescript/return-await': ['error', 'error-handling-correctness-only'],
  'typescript/switch-exhaustiveness-check': 'error',
  'typescript/no-base-to-string': 'error',
  'typescript/no-unnecessary-type-assertion': 'error',
  'typescript/no-deprecated': 'error',
};

/** Keeps an `any` from a library on the line where it enters. */
const leakingAny = {
  'typescript/no-unsafe-argument': 'error',
  'typescript/no-unsafe-assignment': 'error',
  'typescript/no-unsafe-call': 'error',
  'typescript/no-unsafe-member-access': 'error',
  'typescript/no-unsafe-return': 'error',
};

/** Rules that the linter's group `correctness` lacks, and rules in it that find nothing useful here. */
const plainCode = {
  'no-control-regex': 'off',
  'typescript/no-misused-spread': 'off',
  'typescript/unbound-method': 'off',
  eqeqeq: 'error',
  'no-unused-vars': 'error',
  'import/no-default-export': 'error',
  'typescript/ban-ts-comment': 'error',
  'typescript/consistent-type-imports': 'error',
  'typescript/no-explicit-any': 'error',
  'typescript/no-extraneous-class': 'error',
  'typescript/no-invalid-void-type': 'error',
  'typescript/no-non-null-assertion': 'error',
  'typescript/no-require-imports': 'error',
  'typescript/no-unsafe-function-type': 'error',
};

const folders = Object.keys(importTable);

function boundariesOf(folder) {
  const allowed = importTable[folder] ?? [];
  const refused = folders.filter((other) => other !== folder && !allowed.includes(other));
  const patterns = [
    { regex: `(^|/)(${refused.join('|')})(/|$)`, message: `src/${folder} must not import these: see the import table.` },
    {
      group: folders.filter((other) => other !== folder).flatMap((other) => [`**/${other}/**`, `!**/${other}/index.js`]),
      message: 'Enter a folder through its index.',
    },
  ];
  if (folder !== 'cli') patterns.push({ regex: '^\\.\\./(\\.\\./)*index\\.js$', message: 'Only the command line imports the public API.' });
  const paths = [];
  if (folder !== 'flow') {
    paths.push({ name: 'rxjs', importNames: queueingOperators, message: 'It queues without bound: waiting happens in src/flow.' });
    patterns.push({ regex: '^rxjs/', message: 'Import from rxjs.' });
  }
  if (folder !== 'http') paths.push({ name: 'got', message: 'Only src/http speaks HTTP as a client.' });
  return {
    files: [`src/${folder}/**/*.ts`],
    rules: { 'no-restricted-imports': ['error', { paths, patterns }] },
  };
}

export default {
  plugins: ['typescript', 'import', 'oxc'],
  categories: { correctness: 'error' },
  options: { typeAware: true },
  ignorePatterns: ['dist/', 'out/', 'coverage/'],
  rules: { ...lostWork, ...plainCode, 'import/no-cycle': ['error', { ignoreTypes: false }] },
  overrides: [
    { files: ['src/**/*.ts'], rules: leakingAny },
    { files: ['*.config.*'], rules: { 'import/no-default-export': 'off' } },
    {
      files: ['src/**/*.ts'],
      excludeFiles: ['src/cli/**'],
      rules: {
        'no-restricted-properties': ['error', { object: 'process', property: 'exit', message: 'Only the command line ends the process.' }],
      },
    },
    ...folders.map(boundariesOf),
  ],
};
