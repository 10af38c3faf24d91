import { collectionNames, collections, columnsOf, originalName, type Collection } from '../../../src/collections/index.js';
import { snakeCase } from '../../../src/core/index.js';

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
])('the name of a column of the field %j is %s', (original, column) => {
  expect(snakeCase(original)).toBe(column);
});
