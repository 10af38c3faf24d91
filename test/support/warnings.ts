import { jest } from '@jest/globals';

/**
 * Captures the process warnings of the tests in the surrounding `describe`, so that they do not go to stderr. Returns a function that returns those
 * of the current test.
 */
export function heldWarnings(): () => readonly string[] {
  let held: string[];
  beforeEach(() => {
    held = [];
    jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void held.push(String(warning)));
  });
  afterEach(() => void jest.restoreAllMocks());
  return () => held;
}
