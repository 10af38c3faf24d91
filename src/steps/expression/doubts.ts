import type { ASTNode } from '@marcbachmann/cel-js';
import type { Column, Warning } from '../../core/index.js';
import { constantDoubts } from './constants.js';
import { flagDoubts } from './flags.js';
import { formDoubts } from './forms.js';
import { orderDoubts } from './orders.js';
import { resultDoubts } from './results.js';
import { spaceDoubts } from './spaces.js';
import { aliasesIn } from './texts.js';

/** Warns about parts of an expression that are valid but probably not intended. */
export function doubtsOf(source: string, nodes: readonly ASTNode[], columns: readonly Column[]): readonly Warning[] {
  const aliases = aliasesIn(nodes);
  return [
    ...flagDoubts(nodes, columns, aliases).map((message) => ({ code: 'W_SPEC_FLAG', message }) as const),
    ...orderDoubts(nodes, columns, aliases).map((message) => ({ code: 'W_SPEC_TEXT', message }) as const),
    ...formDoubts(nodes, columns, aliases).map((message) => ({ code: 'W_SPEC_TEXT', message }) as const),
    ...spaceDoubts(nodes, columns, aliases).map((message) => ({ code: 'W_SPEC_TEXT', message }) as const),
    ...resultDoubts(nodes).map((message) => ({ code: 'W_SPEC_TEXT', message }) as const),
    ...constantDoubts(source, nodes, columns).map((message) => ({ code: 'W_SPEC_CONSTANT', message }) as const),
  ];
}
