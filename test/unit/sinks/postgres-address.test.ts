import { addressOf } from '../../../src/sinks/postgres/address.js';

const secret = 'sekret42%20';

test.each([
  ['postgres://u:p%40ss@db.example.org/crm?sslmode=verify-full', { host: 'db.example.org', port: 5432, user: 'u', password: 'p@ss' }],
  ['postgresql://localhost:6432/crm', { host: 'localhost', port: 6432, user: undefined, password: undefined, ssl: false }],
  ['postgres://[::1]/crm', { host: '::1', ssl: false }],
  ['postgres://%2Frun%2Fpostgresql/crm', { host: '/run/postgresql', database: 'crm', ssl: false }],
  ['postgres://db/crm?sslmode=require', { ssl: { rejectUnauthorized: false } }],
  ['postgres://db/crm?sslmode=disable', { ssl: false }],
  ['postgres://10.0.0.5/crm?sslmode=verify-full', { ssl: { rejectUnauthorized: true, host: '10.0.0.5' } }],
])('%s is the address of a database', (url, expected) => {
  expect(addressOf(url)).toMatchObject(expected);
});

test.each([
  `mysql://u:${secret}@db/crm`,
  `u:${secret}`,
  `postgres://u:${secret}@db/crm`,
  ...['prefer', 'toString', 'require&options=-c%20x'].map((mode) => `postgres://u:${secret}@db/crm?sslmode=${mode}`),
  `postgres://u:${secret}@localhost/`,
  ...['/', '12/', '?', '42?', '42#', 'p@ss/', '%zz'].map((start) => `postgres://u:${start}${secret}@db/crm?sslmode=require`),
])('%s is none', (url) => {
  expect(addressOf(url)).toBeUndefined();
});
