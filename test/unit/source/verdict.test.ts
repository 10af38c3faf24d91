import { describe, expect, test } from '@jest/globals';
import { newConsistency } from '../../../src/core/index.js';
import { driftOf } from '../../../src/source/collection-stream.js';

describe('a list that changed while it was read', () => {
  test('is told where nothing repaired it, and where nothing was asked for but it showed by itself', () => {
    const drift = ['row 20 is no longer where it was read'];
    const warning = {
      code: 'W_SOURCE_DRIFT',
      message: 'leads: the list changed while it was read, so rows may be missing (row 20 is no longer where it was read)',
    };
    const told = (['off', 'drifted', 'repaired', 'stable', 'unstable'] as const).filter(
      (outcome) => driftOf('leads', { ...newConsistency(), outcome, drift }).length > 0,
    );
    expect(told).toEqual(['off', 'drifted']);
    expect(driftOf('leads', { ...newConsistency(), outcome: 'off', drift })).toEqual([warning]);
    expect(driftOf('leads', { ...newConsistency(), outcome: 'off' })).toEqual([]);
  });
});
