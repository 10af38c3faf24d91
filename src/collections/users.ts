import { serviceCollection, personal, text } from './define.js';

export const users = serviceCollection({
  name: 'users',
  paths: ['users'],
  paged: true,
  key: ['uid'],
  id: 'uid',
  unknown: 'plain',
  fields: {
    uid: text(),
    /** Tells of a person. */
    email: personal(),
    affid: text(),
  },
});
