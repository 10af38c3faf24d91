import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { certificate, certifiedKey, expiredCertificate } from '../../support/certificates.js';
import { startCli, type Finished } from '../../support/cli.js';
import { temporaryFolder } from '../../support/temporary.js';

const servers: Server[] = [];

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
  servers.push(server);
  server.listen(0);
  await once(server, 'listening');
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const env = { LEADSTREAM_BASE_URL: `https://${host}:${port}`, LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
  return startCli(['fetch', 'users', '5', '--quiet'], { cwd, env: known ? { ...env, NODE_EXTRA_CA_CERTS: file } : env }).finished;
}

describe('a certificate is', () => {
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
  });

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
