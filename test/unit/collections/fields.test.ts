import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { collectionNames, collections, columnsOf, originalName, type Collection } from '../../../src/collections/index.js';
import { snakeCase } from '../../../src/source/decode/findings.js';
import { anyText } from '../../support/texts.js';

/** The field names of the service's document, in their order, written out because the document is no part of this repository. */
const documented = {
  leads:
    'lead_id,bridge_id,bridge_uid,aff_sub,tag_string_local,PSID,LEAD ACCEPTED,CONVERTED ON OFFER,is_valid,campaign_id,campaign_name,firstname,middlename,lastname,age,email,marital_status,gender,language,home_phone,work_phone,cell_phone,zipcode,sin_number,lead_type,referer,source,timestamp,yearmonthday,uid,lead_status,IPAddress,meta',
  bridges:
    'id,delaytime,maxhourly,title,uid,CRM_KEY,TC_base64ApiKey,TC_campaignId,name,niche,method,timestamp,campaign_id,campaign_name,leadcapsule,lexington,subOne,subTwo,subThree,adnum,mc_swagger_key,smsbusiness_key,smsbusiness_cid,fb_access_token,fb_app_secret,fb_app_id,fb_ads_pixel_id',
  areacodes: 'area_code,city,state,percent_of_area_code_in_city,percent_of_city_in_area_code,city_fips_geoid,city_population',
  links:
    'id,uid,name,chomeURL,url_loggedout,url_loggedin,fbpixel,fbpxtype,analytics_id,timestamp,nofb,nopx,offerid,offerid_rand,affid,affsub,folders,bridge_id,hybrid_strict,mc_swagger_key',
  users: 'uid,email,affid',
};

const declared = {
  leads: {
    flag: ['LEAD ACCEPTED', 'CONVERTED ON OFFER', 'is_valid'],
    timestamp: ['timestamp'],
    date: ['yearmonthday'],
    integer: ['age'],
    decimal: [],
  },
  bridges: { flag: ['leadcapsule', 'lexington'], timestamp: ['timestamp'], date: [], integer: ['delaytime', 'maxhourly'], decimal: [] },
  areacodes: {
    flag: [],
    timestamp: [],
    date: [],
    integer: ['city_population'],
    decimal: ['percent_of_area_code_in_city', 'percent_of_city_in_area_code'],
  },
  links: { flag: ['nofb', 'nopx', 'hybrid_strict'], timestamp: ['timestamp'], date: [], integer: [], decimal: [] },
  users: { flag: [], timestamp: [], date: [], integer: [], decimal: [] },
} as const;

const secrets = {
  leads: [],
  bridges: ['CRM_KEY', 'TC_base64ApiKey', 'mc_swagger_key', 'smsbusiness_key', 'fb_access_token', 'fb_app_secret'],
  areacodes: [],
  links: ['mc_swagger_key'],
  users: [],
} as const;

const persons = {
  leads: [
    'firstname',
    'middlename',
    'lastname',
    'age',
    'email',
    'marital_status',
    'gender',
    'home_phone',
    'work_phone',
    'cell_phone',
    'zipcode',
    'sin_number',
    'IPAddress',
    'meta',
  ],
  bridges: ['name'],
  areacodes: [],
  links: [],
  users: ['email'],
} as const;

/** Original names of the fields that satisfy a condition. */
function originals(collection: Collection, where: (field: Collection['fields'][string]) => boolean = () => true): string[] {
  return Object.entries(collection.fields)
    .filter(([, field]) => where(field))
    .map(([column, field]) => originalName(column, field));
}

test('are the five of the document, in its order', () => {
  expect(collectionNames).toEqual(['leads', 'bridges', 'areacodes', 'links', 'users']);
});

describe.each(collectionNames)('%s', (name) => {
  const collection: Collection = collections[name];

  test('has the fields of the document, in its order', () => {
    expect(originals(collection)).toEqual(documented[name].split(','));
  });

  test('names every column after its field in snake_case', () => {
    expect(Object.keys(collection.fields)).toEqual(documented[name].split(',').map(snakeCase));
  });

  test.each(['flag', 'timestamp', 'date', 'integer', 'decimal'] as const)('declares as %s what the design lists', (type) => {
    expect(originals(collection, (field) => field.type === type)).toEqual(declared[name][type]);
  });

  test('declares every other field as text', () => {
    const typed: readonly string[] = Object.values(declared[name]).flat();
    expect(originals(collection, (field) => field.type === 'text')).toEqual(
      documented[name].split(',').filter((field) => !typed.includes(field)),
    );
  });

  test('calls secret what is credential-like, and nothing else', () => {
    expect(originals(collection, (field) => field.sensitivity === 'secret')).toEqual(secrets[name]);
  });

  test('calls personal what is about a person', () => {
    expect(originals(collection, (field) => field.sensitivity === 'personal')).toEqual(persons[name]);
  });

  test('withholds secret columns unless they are revealed', () => {
    const visible = columnsOf(collection).map(({ original }) => original);
    expect(visible).toEqual(documented[name].split(',').filter((field) => !(secrets[name] as readonly string[]).includes(field)));
  });
});

test.each([
  ['leads', ['lead_id'], 'lead_id'],
  ['bridges', ['id'], 'id'],
  ['areacodes', ['area_code', 'city', 'state'], 'area_code'],
  ['links', ['id'], 'id'],
  ['users', ['uid'], 'uid'],
] as const)('identify a row of %s by %j, and the path by %s', (name, key, id) => {
  expect(collections[name]).toMatchObject({ key, id });
});

test('take unknown fields of bridges and links for secret, of the others for plain', () => {
  expect(Object.fromEntries(collectionNames.map((name) => [name, collections[name].unknown]))).toEqual({
    leads: 'plain',
    bridges: 'secret',
    areacodes: 'plain',
    links: 'secret',
    users: 'plain',
  });
});

test('page all lists but the one of links', () => {
  expect(collectionNames.filter((name) => !collections[name].paged)).toEqual(['links']);
});

test('know both paths of the area codes, the plural first', () => {
  expect(collections.areacodes.paths).toEqual(['areacodes', 'areacode']);
});

test('reveal a secret column at its place', () => {
  const columns = columnsOf(collections.bridges, ['crm_key']);
  expect(columns[5]).toMatchObject({ name: 'crm_key', original: 'CRM_KEY', type: 'text', cast: false, sensitivity: 'secret' });
});

describe('snakeCase', () => {
  test.each([
    ['lead_id', 'lead_id'],
    ['LEAD ACCEPTED', 'lead_accepted'],
    ['CONVERTED ON OFFER', 'converted_on_offer'],
    ['PSID', 'psid'],
    ['IPAddress', 'ip_address'],
    ['CRM_KEY', 'crm_key'],
    ['TC_base64ApiKey', 'tc_base64_api_key'],
    ['TC_campaignId', 'tc_campaign_id'],
    ['subOne', 'sub_one'],
    ['chomeURL', 'chome_url'],
    ['  -- lead  id --', 'lead_id'],
    ['2ndPhone', '2nd_phone'],
    ['Größe', 'gr_e'],
    ['', 'field'],
    ['日本', 'field'],
    ['__proto__', 'proto'],
  ])('writes %j as %s', (original, column) => {
    expect(snakeCase(original)).toBe(column);
  });

  test('gives lower case letters, digits and underscores for any text', () => {
    fc.assert(fc.property(anyText(), (name) => /^[a-z0-9_]+$/.test(snakeCase(name))));
  });

  test('leaves alone what it gave', () => {
    fc.assert(fc.property(fc.string(), (name) => snakeCase(snakeCase(name)) === snakeCase(name)));
  });

  test('never begins or ends with an underscore, nor doubles one', () => {
    fc.assert(fc.property(fc.string(), (name) => !/^_|_$|__/.test(snakeCase(name))));
  });
});
