import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { listening } from '../../support/closing.js';
import { certificate, certifiedKey, expiredCertificate } from '../../support/certificates.js';
import { startCli, type Finished } from '../../support/cli.js';
import { temporaryFolder } from '../../support/temporary.js';

interface Case {
  readonly cert: string;
  readonly host: string;
  /** Whether the certificate is in `NODE_EXTRA_CA_CERTS`. */
  readonly known: boolean;
}

/** Fetches a user over TLS. */
async function fetched({ cert, host, known }: Case): Promise<Finished> {
  const cwd = await temporaryFolder();
  const file = join(cwd, 'ca.pem');
  await writeFile(file, cert);
  const server = createServer({ key: certifiedKey, cert }, (_request, response) => response.end('[{"uid":"5"}]'));
  const port = await listening(server, null);
  const env = { LEADSTREAM_BASE_URL: `https://${host}:${port}`, LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
  return startCli(['fetch', 'users', '5', '--quiet'], { cwd, env: known ? { ...env, NODE_EXTRA_CA_CERTS: file } : env }).finished;
}

describe('a certificate is', () => {
  test.each([
    ['that nobody here knows', { cert: certificate, host: 'localhost', known: false }, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['of another host', { cert: certificate, host: '127.0.0.1', known: true }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['that has expired', { cert: expiredCertificate, host: 'localhost', known: true }, 'CERT_HAS_EXPIRED'],
  ])('refused with what to do, when it is one %s', async (_what, given, reason) => {
    const { code, stderr } = await fetched(given);
    expect(stderr).toMatch(
      new RegExp(`the certificate is not accepted \\(${reason} ${given.host}:\\d+\\)\\. Check host and port of base_url`),
    );
    expect(code).toBe(69);
  });

  test('accepted when it is in NODE_EXTRA_CA_CERTS', async () => {
    expect(await fetched({ cert: certificate, host: 'localhost', known: true })).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('5'),
    });
  });
});
