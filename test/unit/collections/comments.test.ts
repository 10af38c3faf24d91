import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { collections, type Collection } from '../../../src/collections/index.js';

const told = {
  text: '',
  flag: 'Flag: yes/no, y/n, true/false or 1/0 in any case; `cast` it before you compare.',
  integer: 'A whole number; `cast` it to count or compare with it.',
  decimal: 'A number; `cast` it to count or compare with it.',
  timestamp: 'An instant, as seconds since 1970; `cast` makes it a `Date`.',
  date: 'A calendar day as YYYYMMDD; `cast` makes it a `Date`.',
} as const;

const sensitive = { plain: '', personal: 'Personal data.', secret: 'Credential-like: withheld unless it is revealed.' } as const;

test.each<Collection>(Object.values(collections))(
  'the comments on the fields of $name say what their texts are, as declared',
  async ({ name, fields }) => {
    const source = await readFile(new URL(`../../../src/collections/${name}.ts`, import.meta.url), 'utf8');
    const comments = source.matchAll(/^ {4}(?:\/\*\* (.+) \*\/\n {4})?(\w+): \w+\(/gm);
    const declared = Object.entries(fields).map(([field, { type, sensitivity }]) => [
      field,
      [sensitive[sensitivity], told[type]].filter((part) => part !== '').join(' '),
    ]);
    expect(Array.from(comments, ([, comment = '', field]) => [field, comment])).toEqual(declared);
  },
);
