import { dirname } from 'node:path';
import { GateError, type OutputColumn } from '../core/index.js';
import type { Manifest, ManifestFile, modes } from './manifest.js';

export type Mode = (typeof modes)[number];

/** Returns the files of the earlier run that stay in the table with those of this run. */
export function retained(mode: Mode, before: Manifest | undefined, files: readonly ManifestFile[]): readonly ManifestFile[] {
  if (mode === 'replace' || before === undefined) return [];
  if (mode === 'append') return before.files.filter(({ rows }) => rows > 0);
  const replaced = new Set(files.map(({ name }) => dirname(name)));
  return before.files.filter(({ name, rows }) => rows > 0 && !replaced.has(dirname(name)));
}

/**
 * Checks that files of this run are compatible with those of the earlier one: same partitions, and no column removed or changed.
 *
 * @throws {GateError} `E_GATE_SCHEMA` with the differences.
 */
export function checkFit(
  at: string,
  mode: Mode,
  before: Manifest | undefined,
  columns: readonly OutputColumn[],
  partitions: readonly string[],
): void {
  if (mode === 'replace' || before === undefined) return;
  const now = new Map(columns.map(({ name, type }) => [name, type]));
  const problems = before.schema.flatMap(({ name, type }) => {
    const found = now.get(name);
    if (found === undefined) return [`the table has the column ${name}, but this run does not`];
    return found === type ? [] : [`the column ${name} is ${type} in the table and ${found} in this run`];
  });
  if (before.partition_by.join() !== partitions.join())
    problems.push(`the table is partitioned by ${listed(before.partition_by)}, this run by ${listed(partitions)}`);
  if (problems.length === 0) return;
  throw new GateError('E_GATE_SCHEMA', `${at}: mode ${mode} cannot keep files of the table: ${problems.join('; ')}`);
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.join(', ');
}
