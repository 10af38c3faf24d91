import { expect, test } from '@jest/globals';
import { isRetryable, LeadstreamError, SinkError, SourceError } from '../../../src/core/index.js';

test.each([
  ['a service that is down', new SourceError('E_SOURCE_UNAVAILABLE', 'transient', 'x'), true],
  ['a lock of another run', new LeadstreamError('E_RUN_LOCKED', 'x'), true],
  ['an option that is wrong', new SinkError('E_SINK_CONFIG', 'x'), false],
  ['an error of somebody else', Object.assign(new Error('x'), { code: 'E_SOURCE_UNAVAILABLE', retry: true }), false],
  ['no error', 'E_SOURCE_UNAVAILABLE', false],
])('%s is worth another try, or not', (_what, error, worth) => {
  expect(isRetryable(error)).toBe(worth);
});
