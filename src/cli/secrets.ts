import { createRedactor } from '../core/index.js';

/** The values that must never be shown. A command adds those that it learns of. */
export interface Secrets {
  /** Adds values that must never be shown from now on. */
  hide(values: readonly string[]): void;
  /** Removes them from a text. */
  redact(text: string): string;
}

/** @param known Values that are hidden from the start. */
export function createSecrets(known: readonly string[] = []): Secrets {
  const hidden = new Set(known);
  let redactor = createRedactor(hidden);
  return {
    hide: (values) => {
      for (const value of values) hidden.add(value);
      redactor = createRedactor(hidden);
    },
    redact: (text) => redactor(text),
  };
}
