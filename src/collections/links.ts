import { serviceCollection, flag, secret, text, timestamp } from './define.js';

export const links = serviceCollection({
  name: 'links',
  paths: ['links'],
  paged: false,
  key: ['id'],
  id: 'id',
  unknown: 'secret',
  fields: {
    id: text(),
    uid: text(),
    name: text(),
    chome_url: text({ original: 'chomeURL' }),
    url_loggedout: text(),
    url_loggedin: text(),
    fbpixel: text(),
    fbpxtype: text(),
    analytics_id: text(),
    /** An instant, as seconds since 1970; `cast` makes it a `Date`. */
    timestamp: timestamp(),
    /** Flag: yes/no, y/n, true/false or 1/0 in any case; `cast` it before you compare. */
    nofb: flag(),
    /** Flag: yes/no, y/n, true/false or 1/0 in any case; `cast` it before you compare. */
    nopx: flag(),
    offerid: text(),
    offerid_rand: text(),
    affid: text(),
    affsub: text(),
    folders: text(),
    bridge_id: text(),
    /** Flag: yes/no, y/n, true/false or 1/0 in any case; `cast` it before you compare. */
    hybrid_strict: flag(),
    /** Credential-like: withheld unless it is revealed. */
    mc_swagger_key: secret(),
  },
});
