import { Link } from './link.js';
import type { LocalAction } from './local-action.js';
import { Rename } from './rename.js';

const kinds = [Rename, Link];

/** The names of the actions of local disk. */
export const supports: readonly string[] = kinds.map(({ action }) => action);

/** What an action says; `undefined` for what is damaged, or no action of local disk. */
export function actionIn(value: unknown): LocalAction | undefined {
  for (const kind of kinds) {
    const found = kind.in(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
