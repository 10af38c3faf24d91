import type { ASTNode } from '@marcbachmann/cel-js';
import { isNode } from './nodes.js';

/** The texts that one of our functions returns. */
interface Result {
  readonly gives: string;
  /** Whether the function can return a text. */
  isOf(text: string): boolean;
  /** What was probably meant by a text that it never returns, if known. */
  meant(text: string): string | undefined;
}

const folding = (gives: string, fold: (text: string) => string): Result => ({ gives, isOf: (text) => fold(text) === text, meant: fold });

const results: Readonly<Record<string, Result>> = {
  month: {
    gives: 'text like 2026-11',
    isOf: (text) => /^\d{4}-(?:0[1-9]|1[0-2])$/.test(text),
    meant: (text) => {
      const [, year, month] = /^(\d{4})[-/.]?(0?[1-9]|1[0-2])$/.exec(text) ?? [];
      return year === undefined || month === undefined ? undefined : `${year}-${month.padStart(2, '0')}`;
    },
  },
  zip_state: {
    gives: 'two capital letters',
    isOf: (text) => /^[A-Z]{2}$/.test(text),
    meant: (text) => (/^[a-z]{2}$/i.test(text) ? text.toUpperCase() : undefined),
  },
  area_code: {
    gives: 'three digits',
    isOf: (text) => /^\d{3}$/.test(text),
    meant: (text) => /^(?:\+?1)?\D?(\d{3})\D?$/.exec(text)?.[1],
  },
  lower: folding('lower-case text', (text) => text.toLowerCase()),
  upper: folding('upper-case text', (text) => text.toUpperCase()),
  trim: folding('text without white space around it', (text) => text.trim()),
};

/** Warns when the text that a function returns is compared with one that it never returns: `month(timestamp) == '202611'`. */
export function resultDoubts(nodes: readonly ASTNode[]): readonly string[] {
  return nodes.flatMap(({ op, args }): readonly string[] => {
    if (op !== '==' && op !== '!=' && op !== 'in') return [];
    const [left, right] = args;
    return doubtOf(left, right) ?? (op === 'in' ? undefined : doubtOf(right, left)) ?? [];
  });
}

function doubtOf(call: ASTNode, other: ASTNode): readonly string[] | undefined {
  const name = call.op === 'call' ? call.args[0] : '';
  const result = Object.hasOwn(results, name) ? results[name] : undefined;
  if (!result) return undefined;
  const compared: readonly unknown[] = other.op === 'list' ? other.args : [other];
  const wrong = compared.flatMap(textIn).find((text) => text !== '' && !result.isOf(text));
  if (wrong === undefined) return undefined;
  const meant = result.meant(wrong);
  return [`${name}() returns ${result.gives}, never '${wrong}'${meant === undefined ? '' : `; write '${meant}'`}`];
}

function textIn(node: unknown): readonly string[] {
  return isNode(node) && node.op === 'value' && typeof node.args === 'string' ? [node.args] : [];
}
