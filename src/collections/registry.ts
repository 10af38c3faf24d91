import { date, decimal, flag, integer, personal, secret, serviceCollection, text, timestamp } from './define.js';
import type { Collection, RowOf, SecretsOf } from './define.js';

const leads = serviceCollection({ name: 'leads', key: ['lead_id'] })({
  lead_id: text(),
  bridge_id: text(),
  bridge_uid: text(),
  aff_sub: text(),
  tag_string_local: text(),
  psid: text({ original: 'PSID' }),
  lead_accepted: flag({ original: 'LEAD ACCEPTED' }),
  converted_on_offer: flag({ original: 'CONVERTED ON OFFER' }),
  is_valid: flag(),
  campaign_id: text(),
  campaign_name: text(),
  firstname: personal(),
  middlename: personal(),
  lastname: personal(),
  age: integer({ sensitivity: 'personal' }),
  email: personal(),
  marital_status: personal(),
  gender: personal(),
  language: text(),
  home_phone: personal(),
  work_phone: personal(),
  cell_phone: personal(),
  zipcode: personal(),
  sin_number: personal(),
  lead_type: text(),
  referer: text(),
  source: text(),
  timestamp: timestamp(),
  yearmonthday: date(),
  uid: text(),
  lead_status: text(),
  ip_address: personal('IPAddress'),
  meta: personal(),
});

const bridges = serviceCollection({ name: 'bridges', key: ['id'], unknown: 'secret' })({
  id: text(),
  delaytime: integer(),
  maxhourly: integer(),
  title: text(),
  uid: text(),
  crm_key: secret('CRM_KEY'),
  tc_base64_api_key: secret('TC_base64ApiKey'),
  tc_campaign_id: text({ original: 'TC_campaignId' }),
  name: personal(),
  niche: text(),
  method: text(),
  timestamp: timestamp(),
  campaign_id: text(),
  campaign_name: text(),
  leadcapsule: flag(),
  lexington: flag(),
  sub_one: text({ original: 'subOne' }),
  sub_two: text({ original: 'subTwo' }),
  sub_three: text({ original: 'subThree' }),
  adnum: text(),
  mc_swagger_key: secret(),
  smsbusiness_key: secret(),
  smsbusiness_cid: text(),
  fb_access_token: secret(),
  fb_app_secret: secret(),
  fb_app_id: text(),
  fb_ads_pixel_id: text(),
});

const areacodes = serviceCollection({ name: 'areacodes', key: ['area_code', 'city', 'state'], paths: ['areacodes', 'areacode'] })({
  area_code: text(),
  city: text(),
  state: text(),
  percent_of_area_code_in_city: decimal(),
  percent_of_city_in_area_code: decimal(),
  city_fips_geoid: text(),
  city_population: integer(),
});

const links = serviceCollection({ name: 'links', key: ['id'], paged: false, unknown: 'secret' })({
  id: text(),
  uid: text(),
  name: text(),
  chome_url: text({ original: 'chomeURL' }),
  url_loggedout: text(),
  url_loggedin: text(),
  fbpixel: text(),
  fbpxtype: text(),
  analytics_id: text(),
  timestamp: timestamp(),
  nofb: flag(),
  nopx: flag(),
  offerid: text(),
  offerid_rand: text(),
  affid: text(),
  affsub: text(),
  folders: text(),
  bridge_id: text(),
  hybrid_strict: flag(),
  mc_swagger_key: secret(),
});

const users = serviceCollection({ name: 'users', key: ['uid'] })({
  uid: text(),
  email: personal(),
  affid: text(),
});

/**
 * The collections of the service, in the order of its document. All exports of this file are public.
 *
 * @example
 * const key = collections.areacodes.key; // ['area_code', 'city', 'state']
 */
export const collections = { leads, bridges, areacodes, links, users } as const satisfies { readonly [N in string]: Collection<N> };

/** The name of a collection that every service has. */
export type CollectionName = keyof typeof collections;

/**
 * Every collection name.
 *
 * @example
 * collectionNames.includes('leads'); // true
 */
export const collectionNames = Object.keys(collections) as readonly CollectionName[];

/** A row of `leads`; see `RowOf`. */
export type Lead = RowOf<typeof leads>;
/** A row of `bridges`, without its secret fields; see `RowOf`. */
export type Bridge = RowOf<typeof bridges>;
/** A row of `areacodes`; see `RowOf`. */
export type AreaCode = RowOf<typeof areacodes>;
/** A row of `links`, without its secret fields; see `RowOf`. */
export type Link = RowOf<typeof links>;
/** A row of `users`; see `RowOf`. */
export type User = RowOf<typeof users>;

/** The row type of each collection. */
export type Rows = { readonly [N in CollectionName]: RowOf<(typeof collections)[N]> };

/** The secret fields of each collection. */
export type Secrets = { readonly [N in CollectionName]: SecretsOf<(typeof collections)[N]> };
