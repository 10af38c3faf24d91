import type { Environment } from '@marcbachmann/cel-js';
import { ExpressionFault } from './functions.js';
import { isNode, nodesIn } from './nodes.js';

const number = String.raw`(?:\d+(?:\.\d*)?|\.\d+)`;

/**
 * The texts accepted by CEL's own conversions (https://github.com/google/cel-spec/blob/master/doc/langdef.md). The library accepts more: it reads an
 * empty text and `0b0` as 0, and the 30th of February as a day in March.
 */
const spelled: Readonly<Record<string, (text: string) => boolean>> = {
  int: (text) => /^[+-]?\d+$/.test(text),
  uint: (text) => /^\d+$/.test(text),
  double: (text) => /^[+-]?(?:inf|infinity|nan)$/i.test(text) || (decimal.test(text) && Number.isFinite(Number(text))),
  bool: (text) => /^(?:1|t|true|TRUE|True|0|f|false|FALSE|False)$/.test(text),
  timestamp: isInstantText,
  duration: (text) => durationText.test(text),
};

const decimal = new RegExp(`^[+-]?${number}(?:e[+-]?\\d+)?$`, 'i');
const durationText = new RegExp(`^[+-]?(?:${number}(?:ns|us|µs|ms|s|m|h))+$`);
const instantText = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

const guard = 'exact_text';

/** Registers the function that `makeExact` wraps around the operands of conversions. */
export function registerGuard(env: Environment): void {
  env.registerFunction(`${guard}(string, dyn): dyn`, (conversion: string, operand: unknown) => {
    if (typeof operand === 'string' && !readsExactly(conversion, operand))
      throw new ExpressionFault(`${conversion}() cannot read the text`);
    return operand;
  });
}

/** Whether a conversion accepts a text. */
function readsExactly(conversion: string, text: string): boolean {
  return !Object.hasOwn(spelled, conversion) || (spelled[conversion]?.(text) ?? true);
}

/**
 * Makes the conversions of an expression refuse texts that CEL does not accept. The library does not allow replacing them.
 *
 * @param env An environment with the guard.
 * @param tree Changed in place, before it is evaluated.
 */
export function makeExact(env: Environment, tree: unknown): void {
  for (const { op, args } of [...nodesIn(tree)]) {
    if (op !== 'call' || args[1].length !== 1 || !Object.hasOwn(spelled, args[0])) continue;
    const guarded = env.parse(`${guard}('${args[0]}', null)`).ast;
    const operand = args[1][0];
    if (guarded.op !== 'call' || !isNode(operand)) continue;
    guarded.args[1][1] = operand;
    args[1][0] = guarded;
  }
}

function isInstantText(text: string): boolean {
  const day = instantText.exec(text)?.[1];
  if (day === undefined) return false;
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
