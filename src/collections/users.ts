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
    email: personal(),
    affid: text(),
  },
});
