import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { collectionNames, collections, columnsOf, originalName, type Collection } from '../../../src/collections/index.js';
import { snakeCase } from '../../../src/source/decode/findings.js';
import { anyText } from '../../support/texts.js';

/**
 * The fields of the service's document, in its order, written out because the document is no part of this repository. A field is text unless its type stands
 * behind it.
 */
const documented = {
  leads: `
    lead_id, bridge_id, bridge_uid, aff_sub, tag_string_local, PSID, LEAD ACCEPTED: flag, CONVERTED ON OFFER: flag, is_valid: flag,
    campaign_id, campaign_name, firstname, middlename, lastname, age: integer, email, marital_status, gender, language, home_phone,
    work_phone, cell_phone, zipcode, sin_number, lead_type, referer, source, timestamp: timestamp, yearmonthday: date, uid,
    lead_status, IPAddress, meta`,
  bridges: `
    id, delaytime: integer, maxhourly: integer, title, uid, CRM_KEY, TC_base64ApiKey, TC_campaignId, name, niche, method,
    timestamp: timestamp, campaign_id, campaign_name, leadcapsule: flag, lexington: flag, subOne, subTwo, subThree, adnum,
    mc_swagger_key, smsbusiness_key, smsbusiness_cid, fb_access_token, fb_app_secret, fb_app_id, fb_ads_pixel_id`,
  areacodes: `
    area_code, city, state, percent_of_area_code_in_city: decimal, percent_of_city_in_area_code: decimal, city_fips_geoid,
    city_population: integer`,
  links: `
    id, uid, name, chomeURL, url_loggedout, url_loggedin, fbpixel, fbpxtype, analytics_id, timestamp: timestamp, nofb: flag,
    nopx: flag, offerid, offerid_rand, affid, affsub, folders, bridge_id, hybrid_strict: flag, mc_swagger_key`,
  users: 'uid, email, affid',
};

const secrets = {
  leads: '',
  bridges: 'CRM_KEY, TC_base64ApiKey, mc_swagger_key, smsbusiness_key, fb_access_token, fb_app_secret',
  areacodes: '',
  links: 'mc_swagger_key',
  users: '',
};

const persons = {
  leads: `
    firstname, middlename, lastname, age, email, marital_status, gender, home_phone, work_phone, cell_phone, zipcode, sin_number,
    IPAddress, meta`,
  bridges: 'name',
  areacodes: '',
  links: '',
  users: 'email',
};

const listed = (text: string) => text.split(',').flatMap((part) => part.trim() || []);

/** Original names of the fields of a sensitivity. */
function ofSensitivity(collection: Collection, sensitivity: 'personal' | 'secret'): readonly string[] {
  return Object.entries(collection.fields).flatMap(([name, field]) => (field.sensitivity === sensitivity ? originalName(name, field) : []));
}

describe.each(collectionNames)('%s', (name) => {
  const collection: Collection = collections[name];

  test('have the fields of the document, in its order, with their types', () => {
    const fields = Object.entries(collection.fields).map(([column, field]) => {
      expect(column).toBe(snakeCase(originalName(column, field)));
      return originalName(column, field) + (field.type === 'text' ? '' : `: ${field.type}`);
    });
    expect(fields).toEqual(listed(documented[name]));
  });

  test('call secret what is credential-like and personal what is about a person, and nothing else', () => {
    expect(ofSensitivity(collection, 'secret')).toEqual(listed(secrets[name]));
    expect(ofSensitivity(collection, 'personal')).toEqual(listed(persons[name]));
  });

  test('withhold secret columns unless they are revealed', () => {
    const originals = (reveal: readonly string[]) => columnsOf(collection, reveal).map(({ original }) => original);
    const all = Object.entries(collection.fields).map(([column, field]) => originalName(column, field));
    expect(originals([])).toEqual(all.filter((field) => !listed(secrets[name]).includes(field)));
    expect(originals(listed(secrets[name]).map(snakeCase))).toEqual(all);
  });
});

test('unknown fields of bridges and links are taken for secret', () => {
  expect(collectionNames.filter((name) => collections[name].unknown === 'secret')).toEqual(['bridges', 'links']);
});

describe('the name of a column', () => {
  test.each([
    ['LEAD ACCEPTED', 'lead_accepted'],
    ['PSID', 'psid'],
    ['IPAddress', 'ip_address'],
    ['TC_base64ApiKey', 'tc_base64_api_key'],
    ['chomeURL', 'chome_url'],
    ['  -- lead  id --', 'lead_id'],
    ['2ndPhone', '2nd_phone'],
    ['Größe', 'gr_e'],
    ['', 'field'],
    ['日本', 'field'],
    ['__proto__', 'proto'],
  ])('of the field %j is %s', (original, column) => {
    expect(snakeCase(original)).toBe(column);
  });

  test('has lower case letters, digits and single underscores between them, and is its own name', () => {
    fc.assert(
      fc.property(anyText(), (name) => {
        expect(snakeCase(name)).toMatch(/^[a-z0-9]+(?:_[a-z0-9]+)*$/);
        expect(snakeCase(snakeCase(name))).toBe(snakeCase(name));
      }),
    );
  });
});
