import { createRedactor } from '../core/index.js';

/** The values that must never be seen, which grow as a command learns of them. */
export interface Secrets {
  /** Names values that must never be seen from now on. */
  hide(values: readonly string[]): void;
  /** Takes them out of a text. */
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
