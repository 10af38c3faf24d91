import { addressOf, secretPartsOf } from '../../../src/sinks/postgres/address.js';

const secret = 'sekret42%20';

test.each([
  ['postgres://u:p%40ss@db.example.org/crm?sslmode=verify-full', { host: 'db.example.org', port: 5432, user: 'u', password: 'p@ss' }],
  ['postgresql://localhost:6432/crm', { host: 'localhost', port: 6432, user: undefined, password: undefined, ssl: false }],
  ['postgres://[::1]/crm', { host: '::1', ssl: false }],
  ['postgres:///crm?host=/run/postgresql', { host: '/run/postgresql', database: 'crm', ssl: false }],
  ['postgres://db/crm?sslmode=require', { ssl: { rejectUnauthorized: false } }],
  ['postgres://db/crm?sslmode=disable', { ssl: false }],
])('%s is the address of a database', (url, expected) => {
  expect(addressOf(url)).toMatchObject(expected);
});

test.each([
  [`mysql://u:${secret}@db/crm`, 'is not a URL'],
  [`u:${secret}`, 'is not a URL'],
  [`postgres://u:${secret}@db/crm`, 'sslmode=verify-full'],
  [`postgres://u:${secret}@db/crm?sslmode=prefer`, 'sslmode=verify-full'],
  [`postgres://u:${secret}@db/crm?sslmode=toString`, 'sslmode=verify-full'],
  [`postgres://u:${secret}@db/crm?sslmode=require&options=-c%20x`, 'has the parameter options'],
  [`postgres://u:${secret}@localhost/`, 'needs a host and a database'],
  ...['/', '12/', '?', '42?', '42#', 'p@ss/'].map(
    (start) => [`postgres://u:${start}${secret}@db/crm?sslmode=require`, '%2F, %3F'] as const,
  ),
  [`postgres://u:${secret}%zz@localhost/crm`, 'needs a host and a database'],
])('%s is refused, without showing it', (url, message) => {
  const { problem = '' } = addressOf(url) as { problem?: string };
  expect(problem).toContain(message);
  expect(problem).not.toContain('sekret');
});

test('the password is secret by itself, as it is meant', () => {
  expect(secretPartsOf('postgres://u:p%40ss%2Fword@localhost/crm')).toEqual(['p@ss/word']);
});
