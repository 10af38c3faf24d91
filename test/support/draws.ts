import fc from 'fast-check';

/**
 * How the tests draw: with one seed, so that a commit passes or fails every time. With `TEST_DRAWS=random`, as in the soak tests, every run draws anew and more
 * often, and a failure reports its seed.
 */
const isRandom = process.env['TEST_DRAWS'] === 'random';

fc.configureGlobal(isRandom ? { numRuns: 300 } : { numRuns: 30, seed: 1 });
