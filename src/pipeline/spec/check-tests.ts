import { nearest, unknownName } from '../../core/index.js';
import type { Plan, Planned } from './plan.js';
import type { Problem, SpecWarning } from './references.js';
import type { TestShape } from './test-shape.js';

/** Reports names in the tests of a pipeline that do not exist (collections, columns), and test names used twice. */
export function checkTests(tests: readonly TestShape[], { plan, isKnown }: Planned, problem: Problem): void {
  const columns = plan.columns().map(({ name }) => name);
  tests.forEach(({ name, given = {}, expect }, index) => {
    const first = tests.findIndex((other) => other.name === name);
    if (first < index) problem(['tests', index, 'name'], `the name '${name}' is taken by tests[${first}]`);
    for (const collection of Object.keys(given)) {
      const path = ['tests', index, 'given', collection];
      if (!Object.hasOwn(plan.collections, collection))
        problem(path, unknownName('collection', collection, Object.keys(plan.collections)), true);
      else if (!plan.reads.includes(collection))
        problem(path, `${collection} is not read here; this pipeline reads ${plan.reads.join(', ')}`, true);
    }
    for (const { path, message } of namedTwice(given, plan)) problem(['tests', index, 'given', ...path], message, true);
    if (!isKnown) return;
    // A field that occurs only in the rows of the test is a column, too.
    const known = [...columns, ...Object.values(given).flatMap((rows) => rows.flatMap((row) => Object.keys(row)))];
    expect.rows?.forEach((row, place) => {
      for (const column of Object.keys(row)) {
        if (!known.includes(column))
          problem(['tests', index, 'expect', 'rows', place, column], unknownName('column', column, columns), true);
      }
    });
  });
}

/** Returns fields that a row contains under both of their names; the service could send only one. */
function namedTwice(given: NonNullable<TestShape['given']>, { collections }: Plan) {
  return Object.entries(given).flatMap(([collection, rows]) =>
    Object.entries(collections[collection]?.fields ?? {}).flatMap(([name, { original = name }]) =>
      rows.flatMap((row, place) =>
        original !== name && (row[name] ?? null) !== null && (row[original] ?? null) !== null
          ? [{ path: [collection, place, original], message: `the row also has '${name}', which is the same field; keep one` }]
          : [],
      ),
    ),
  );
}

/**
 * Warns of probable misspellings in the rows given by tests: a field does not need to be declared, but
 * one that nearly has the name of another is likely a mistake.
 */
export function doubtGivenFields(tests: readonly TestShape[], plan: Plan, doubt: SpecWarning): void {
  tests.forEach(({ given = {} }, index) => {
    for (const [collection, rows] of Object.entries(given)) {
      const declared = plan.collections[collection];
      if (!declared) continue;
      const known = Object.entries(declared.fields).flatMap(([name, { original = name }]) => [name, original]);
      const told = new Set<string>();
      rows.forEach((row, place) => {
        for (const field of Object.keys(row).filter((name) => !known.includes(name) && !told.has(name))) {
          const near = nearest(field, known);
          // A name that merely starts like another one may be an undeclared field.
          if (near === undefined || Math.abs(near.length - field.length) > 1) continue;
          told.add(field);
          const message = `${collection} has no field '${field}'; did you mean '${near}'?`;
          doubt(['tests', index, 'given', collection, place, field], { code: 'W_SPEC_GIVEN', message });
        }
      });
    }
  });
}
