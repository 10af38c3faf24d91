import { describe, expect, test } from '@jest/globals';
import { queryOf, secretsOf } from '../../../src/client/index.js';
import { createRedactor } from '../../../src/redact.js';
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
    expect(createRedactor(['key', 'key-long'])('key-long key')).toBe('[redacted] [redacted]');
  });

  test('leaves a text without secrets alone', () => {
    expect(redact('/api/leads: HTTP 500')).toBe('/api/leads: HTTP 500');
  });

  test('ignores an empty secret', () => {
    expect(createRedactor([''])('text')).toBe('text');
  });

  test('takes a secret for text and not for a pattern', () => {
    expect(createRedactor(['a.c', '$&'])('abc a.c $&')).toBe('abc [redacted] [redacted]');
  });
});

describe('credentials', () => {
  test('become the parameters of their form', () => {
    expect(queryOf({ rest_api_key: 'k' })).toEqual({ rest_api_key: 'k' });
    expect(queryOf({ authorized_uid: '7', authorized_rest_api_key: 'k' })).toEqual({ authorized_uid: '7', authorized_rest_api_key: 'k' });
  });

  test('hold the keys as secrets, not the user id', () => {
    expect(secretsOf({ rest_api_key: 'k' })).toEqual(['k']);
    expect(secretsOf({ authorized_uid: '7', authorized_rest_api_key: 'k' })).toEqual(['k']);
  });
});
