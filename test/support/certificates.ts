import { createPrivateKey } from 'node:crypto';

/** The key of both certificates, made for tests only. */
export const certifiedKey = createPrivateKey({
  format: 'jwk',
  key: {
    kty: 'EC',
    crv: 'P-256',
    x: 'jdOsqQJ-KW4ZVFCYDH-TxvSKjlXqcERL5QFOwdJEo30',
    y: 'qKf_qow0vlIBfANDxe4NUASZvoN27OagawAo2JjDYg0',
    d: 'PicLyS9cr3YS1a9BlmWGgyo3zObGM4AeIYwEFDYoI28',
  },
}).export({ format: 'pem', type: 'pkcs8' });

/** A self-signed certificate for `localhost`, from 2020 to 9999. */
export const certificate = pem([
  'MIIBdDCCARqgAwIBAgIUNDJzSu3WGkXtzO3zKM8s8yxfy58wCgYIKoZIzj0EAwIw',
  'FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTIwMDEwMTAwMDAwMFoYDzk5OTkxMjMx',
  'MjM1OTU5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO',
  'PQMBBwNCAASN06ypAn4pbhlUUJgMf5PG9IqOVepwREvlAU7B0kSjfain/6qMNL5S',
  'AXwDQ8XuDVAEmb6DduzmoGsAKNiYw2INo0gwRjAPBgNVHRMBAf8EBTADAQH/MBQG',
  'A1UdEQQNMAuCCWxvY2FsaG9zdDAdBgNVHQ4EFgQUZlhvgnLBzNNpFcgilEW+LxcW',
  '0GQwCgYIKoZIzj0EAwIDSAAwRQIgFNaygdlLIkg4hkBJWq2CiA8Ty58ZjnCv+olm',
  '86D/bL8CIQDBX0hJ0UJazUPbAoFiAOfCaBPCeGIrfauV+wFj2fhIxw==',
]);

/** A self-signed certificate for `localhost` that was valid on 1 January 2020 only. */
export const expiredCertificate = pem([
  'MIIBczCCARigAwIBAgIUNwLw2RAUPevTJdue38SKqmYzL3EwCgYIKoZIzj0EAwIw',
  'FDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTIwMDEwMTAwMDAwMFoXDTIwMDEwMjAw',
  'MDAwMFowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0D',
  'AQcDQgAEjdOsqQJ+KW4ZVFCYDH+TxvSKjlXqcERL5QFOwdJEo32op/+qjDS+UgF8',
  'A0PF7g1QBJm+g3bs5qBrACjYmMNiDaNIMEYwDwYDVR0TAQH/BAUwAwEB/zAUBgNV',
  'HREEDTALgglsb2NhbGhvc3QwHQYDVR0OBBYEFGZYb4JywczTaRXIIpRFvi8XFtBk',
  'MAoGCCqGSM49BAMCA0kAMEYCIQCJ+mhz98eaVcckMpOxmGv6YGENDcJEU/vaEk4S',
  '9FnICwIhAM5dLiXmpH9Rwm3TwYmhbXVH5XH1NDemZqDoDt892gyx',
]);

function pem(lines: readonly string[]): string {
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
