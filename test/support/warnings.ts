import { afterEach, beforeEach, jest } from '@jest/globals';

/** Keeps the warnings of the process away from stderr, for the tests of the `describe` around it, and gives those of the current test. */
export function heldWarnings(): () => readonly string[] {
  let held: string[];
  beforeEach(() => {
    held = [];
    jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void held.push(String(warning)));
  });
  afterEach(() => void jest.restoreAllMocks());
  return () => held;
}
