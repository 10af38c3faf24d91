import { expect, test } from '@jest/globals';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { localDisk } from '../../../src/store/local-disk/local-disk.js';
import { renameAction } from '../../../src/store/local-disk/actions.js';
import { stores } from '../../../src/store/stores.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';
import { storeContract, type SubjectStore } from './contract.js';

const subjects: readonly SubjectStore[] = [
  {
    store: localDisk,
    place: async () => {
      const folder = await temporaryFolder();
      const at = (name: string) => join(folder, name);
      return {
        path: at,
        names: () => filesBelow(folder),
        read: (name) => readFile(at(name), 'utf8').catch(() => undefined),
        write: async (name, text) => {
          await mkdir(dirname(at(name)), { recursive: true });
          await writeFile(at(name), text);
        },
        damage: (action) => appendFile(renameAction().parse(action).from, 'more'),
      };
    },
  },
];

test('every store is held to the contract', () => {
  expect(subjects.map(({ store }) => store.name)).toEqual(stores.map(({ name }) => name));
});

subjects.forEach(storeContract);
