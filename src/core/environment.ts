/** The environment variables that leadstream reads, what they mean, and which of them hold keys. The reference lists them. */
export const environment = {
  LEADSTREAM_BASE_URL: { secret: false, summary: 'Address of the service, if a pipeline file has no `service`, and for `fetch`.' },
  LEADSTREAM_REST_API_KEY: { secret: true, summary: 'Key for that service; for `serve`, the key that it accepts.' },
  LEADSTREAM_AUTHORIZED_UID: { secret: false, summary: 'User of the other form of credentials.' },
  LEADSTREAM_AUTHORIZED_REST_API_KEY: { secret: true, summary: 'Key of that user.' },
  LEADSTREAM_HMAC_KEY: { secret: true, summary: 'Key of `mask: hmac`, at least 16 characters.' },
  HTTPS_PROXY: { secret: true, summary: 'Proxy to a service with TLS, unless `NO_PROXY` lists its host. Also in lower case.' },
  HTTP_PROXY: { secret: true, summary: 'Proxy to a service without TLS.' },
  NO_PROXY: { secret: false, summary: 'Hosts that are requested without a proxy, like `localhost,.example.com`.' },
  NO_COLOR: { secret: false, summary: 'Set to anything: no colours on a terminal. Elsewhere there are none anyway.' },
  NODE_EXTRA_CA_CERTS: { secret: false, summary: 'File with certificates of additional trusted authorities.' },
} as const;

/** The variables that hold keys. Their values are redacted wherever they appear. */
export const secretVariables: readonly string[] = Object.entries(environment).flatMap(([name, { secret }]) => (secret ? [name] : []));
