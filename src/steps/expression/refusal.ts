import type { TypeCheckResult } from '@marcbachmann/cel-js';
import type { Column } from '../../collections/index.js';
import { isNode } from './nodes.js';
import { readers } from './readers.js';

/** Failures of typing that are failures of every row: no value of such types, nor `null`, makes them right. */
const certain = new Set([
  'no_such_overload',
  'no_matching_overload',
  'invalid_condition_type',
  'invalid_logical_operand',
  'cannot_index_type',
  'invalid_comprehension_range',
]);

/** What depends on the values all the same: `[1] == [1.0]` and `1.0 in {1: 'a'}` are true, and `[1] + ['a']` is a list. */
const depends = /\bnull\b| (?:[!=]=|\+) (?:list|map)| in map/;

/**
 * Why an expression is right for no row, told from the refusal of its types; `undefined` when it can be right, like one whose
 * alternatives have different types.
 */
export function refusalOf({ error }: TypeCheckResult, columns: readonly Column[]): string | undefined {
  if (!error || !certain.has(error.code) || depends.test(error.summary)) return undefined;
  const texts = textsAt(error.node, error.code, columns);
  if (texts.length === 0)
    return `${error.summary}, whatever the row (a field is text unless cast; num() is a decimal and goes with 2.0, not with 2)`;
  const names = texts.map(({ name }) => name).join(' and ');
  const condition = wantsFlag(error.node, error.code);
  const remedies = texts.map(({ name, type }) =>
    condition && type !== 'flag' ? `a comparison like ${name} == '…'` : `${readers[type]}(${name})`,
  );
  return `${names} ${texts.length > 1 ? 'are' : 'is'} text here; use ${remedies.join(' and ')}${texts.every(({ cast }) => cast) ? '' : ', or cast before'}`;
}

function wantsFlag(node: unknown, code: string): boolean {
  return code === 'invalid_condition_type' || code === 'invalid_logical_operand' || (isNode(node) && node.op === '!_');
}

/** The columns of text right at an operator, or where a condition is wanted. Of a call it is not told which operand is wrong. */
function textsAt(node: unknown, code: string, columns: readonly Column[]): readonly Column[] {
  if (!isNode(node) || !(code === 'no_such_overload' || wantsFlag(node, code))) return [];
  const operands: readonly unknown[] = node.op === 'id' ? [node] : [node.args].flat();
  const names = new Set(operands.flatMap((operand) => (isNode(operand) && operand.op === 'id' ? [operand.args] : [])));
  return columns.filter(({ name, type, cast }) => names.has(name) && (!cast || type === 'text'));
}
