import { Link } from './link.js';
import type { LocalAction } from './local-action.js';
import { Rename } from './rename.js';

const kinds = [Rename, Link];

/** The names of the actions that local disk supports. */
export const supports: readonly string[] = kinds.map(({ action }) => action);

/** Parses an action; returns `undefined` if it is damaged, or not an action of local disk. */
export function actionIn(value: unknown): LocalAction | undefined {
  for (const kind of kinds) {
    const found = kind.in(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
