import { describe, expect, test } from '@jest/globals';
import { createRedactor } from '../../../src/core/text.js';
import { oddKey } from '../../support/odd-server.js';

describe('createRedactor', () => {
  const redact = createRedactor([oddKey, 'plain-key']);

  test.each([
    ['plain', oddKey],
    ['URI-encoded', encodeURIComponent(oddKey)],
    ['form-encoded', new URLSearchParams({ k: oddKey }).toString().slice(2)],
    ['JSON-encoded', JSON.stringify(oddKey).slice(1, -1)],
  ])('replaces the %s spelling, everywhere', (_name, spelling) => {
    expect(redact(`a=${spelling}&b=${spelling};`)).toBe('a=[redacted]&b=[redacted];');
  });

  test('replaces every secret', () => {
    expect(redact(`${oddKey} plain-key other`)).toBe('[redacted] [redacted] other');
  });

  test('replaces the longer of two secrets of which one begins the other', () => {
    expect(createRedactor(['some-key', 'some-key-long'])('some-key-long some-key')).toBe('[redacted] [redacted]');
  });

  test('leaves a text without secrets alone', () => {
    expect(redact('/api/leads: HTTP 500')).toBe('/api/leads: HTTP 500');
  });

  test.each(['', 'e', 'leads', 'seven_7'])('ignores %j, which is too short to be a secret and stands in other words', (secret) => {
    const message = 'leads: seven_7 of eleven';
    expect(createRedactor([secret])(message)).toBe(message);
  });

  test('takes a secret for text and not for a pattern', () => {
    expect(createRedactor(['some.key', '$&$&$&$&'])('some-key some.key $&$&$&$&')).toBe('some-key [redacted] [redacted]');
  });
});
