import { usually } from '../../options/index.js';
import { part, percent } from '../units.js';
import { defineGate, someName } from './gate.js';

/** Default for how much smaller the lists of the service may be than in the last run. */
export const defaultReadShrink = 0.5;

export const maxReadShrink = defineGate('max_read_shrink', {
  schema: (z) =>
    usually(z.union([part(), z.record(someName(), part())]), percent(defaultReadShrink)).describe(
      'How much smaller than in the last run the lists that are read and joined may be, like 80%, or by collection, like { bridges: 100% }; 100% lets them be empty. The first run passes.',
    ),
  set: (most) => ({ judges: 'lists', lists: typeof most === 'object' ? Object.keys(most) : [] }),
});
