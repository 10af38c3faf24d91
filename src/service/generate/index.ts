import { collectionNames, collections, generatedNames, generatedRows, originalName, type Collection } from '../../collections/index.js';
import { byName, defined, LeadstreamError, itemAt, parserOf } from '../../core/index.js';
import type { DataSource, ServedTable } from '../answer.js';
import { Draw, numbering, type FullRow, type World, mix, areaCodeOf, places, type City } from './world.js';

/** How many rows to generate, from which seed. */
export interface GenerateOptions extends Partial<Readonly<Record<keyof typeof generatedRows, number>>> {
  /** A whole number, of which 32 bits are used. Default 1. */
  readonly seed?: number;
  /** Day, `YYYY-MM-DD` after 1970-01-01: the last lead comes just before this midnight UTC. Default: the first comes on 2023-01-01. */
  readonly until?: string;
  /** Whether some leads live in Canada, with postal codes that have letters. Default: false; every zipcode has five digits. */
  readonly canadian?: boolean;
}

/** Purposes separate draws; others are 5 to 10. */
const generators = {
  leads: { purpose: 1, first: 4_000_000, step: 7, owner: 'bridges', row: leadRow },
  bridges: { purpose: 2, first: 1000, step: 3, owner: 'users', row: bridgeRow },
  links: { purpose: 3, first: 50_000, step: 5, owner: 'bridges', row: linkRow },
  users: { purpose: 4, first: 100, step: 4, owner: 'users', row: userRow },
} as const;

/**
 * Generates consistent rows without real personal data: the same for the same options, in every process. A row is computed at its first
 * request and kept, up to 33,554,432 characters in all. Zipcodes and cities are real and are loaded with the first lead or area code.
 *
 * @throws {LeadstreamError} `E_USAGE` for a number that is negative or not whole, rows without an owner, or a day that does not exist.
 *
 * @example
 * const source = generate({ leads: 1_000_000, seed: 7 });
 * source.leads.row(999_999); // '{"lead_id":"10999997",…}'
 */
export function generate({ seed = 1, until, canadian = false, ...given }: GenerateOptions = {}): DataSource {
  const counts = { ...generatedRows, ...defined(given) };
  for (const name of generatedNames) {
    const { owner } = generators[name];
    if (!Number.isSafeInteger(counts[name]) || counts[name] < 0)
      throw new LeadstreamError('E_USAGE', `${name} must be a whole number, at least 0`);
    if (counts[name] > 0 && counts[owner] === 0) throw new LeadstreamError('E_USAGE', `${name} need at least one row of ${owner}`);
  }
  const ids = byName(generatedNames, (name) => numbering({ seed, ...generators[name], count: counts[name] }));
  const world: World = { seed, counts, ids, canadian, ...secondsOf(counts.leads, until) };
  const room = { left: 1 << 25 };
  return byName(collectionNames, (name) => {
    if (name === 'areacodes') return areaCodeTable(seed, room);
    const { purpose, row: rowOf } = generators[name];
    const draw = new Draw(seed, purpose);
    const write = rowWriter(collections[name]);
    const row = (index: number) => {
      draw.seek(index);
      return write(rowOf(world, draw, index));
    };
    return { count: counts[name], row: keeping(row, room), find: ids[name].find };
  });
}

/** So many leads that they would begin before 1970 follow each other faster. */
function secondsOf(leads: number, until?: string): Pick<World, 'firstSecond' | 'secondsApart'> {
  // 2023-01-01 UTC
  if (until === undefined) return { firstSecond: 1_672_531_200, secondsApart: 31 };
  const midnight = /^\d{4}-\d\d-\d\d$/.test(until) ? parserOf('date')(until.replaceAll('-', '')) : undefined;
  const end = Number(midnight ?? 0) / 1000;
  if (end <= 0) throw new LeadstreamError('E_USAGE', 'until must be a day after 1970-01-01 as YYYY-MM-DD');
  const secondsApart = Math.min(31, Math.floor(end / Math.max(1, leads)));
  return { firstSecond: end - leads * secondsApart, secondsApart };
}

interface Room {
  left: number;
}

function areaCodeTable(seed: number, room: Room): ServedTable {
  const write = rowWriter(collections.areacodes);
  return {
    get count() {
      return areaCodeEntries().length;
    },
    row: keeping((index) => write(areaCodeRow(seed, index)), room),
    find: (id) => areaCodeEntries().flatMap(({ code }, index) => (code === id ? [index] : [])),
  };
}

function rowWriter<C extends Collection>({ fields }: C): (row: FullRow<C>) => string {
  const names = Object.entries(fields).map(([column, field]) => [column, JSON.stringify(originalName(column, field))] as const);
  return (row) => `{${names.map(([column, name]) => `${name}:${JSON.stringify(row[column])}`).join(',')}}`;
}

/** Most rows are read more than once, and computing a row takes several times as long as sending it. */
function keeping(row: (index: number) => string, room: Room): (index: number) => string {
  const kept = new Map<number, string>();
  return (index) => {
    const text = kept.get(index) ?? row(index);
    if (!kept.has(index) && text.length <= room.left) {
      room.left -= text.length;
      kept.set(index, text);
    }
    return text;
  };
}

/** Values that look like credentials begin with `fake-`. */
function bridgeRow(world: World, draw: Draw, index: number): FullRow<typeof collections.bridges> {
  const fake = (kind: string, percent: number): string => draw.sometimes(percent, () => `fake-${kind}-${draw.hex()}`);
  const { niche, ...head } = bridgeHead(world, index);
  return {
    ...head,
    delaytime: String(draw.below(600)),
    maxhourly: String(10 * (1 + draw.below(50))),
    title: `${niche} bridge ${index + 1}`,
    crm_key: fake('crm', 100),
    tc_base64_api_key: fake('tc', 50),
    tc_campaign_id: draw.sometimes(50, () => draw.digits(6)),
    name: `${draw.pick(firstNames)} ${draw.pick(lastNames)}`,
    niche,
    method: draw.pick(['post', 'ping', 'form', 'mail']),
    timestamp: String(1_640_995_200 + index * 3600 + draw.below(3600)),
    leadcapsule: draw.flag(40),
    lexington: draw.flag(10),
    sub_one: draw.pick(['main', 'mobile', draw.digits(4)]),
    sub_two: draw.pick(['night, weekend', 'day', 'any']),
    sub_three: draw.sometimes(30, () => `list ${draw.below(9)}`),
    adnum: draw.digits(5),
    mc_swagger_key: fake('swagger', 40),
    smsbusiness_key: fake('sms', 40),
    smsbusiness_cid: draw.sometimes(40, () => draw.digits(8)),
    fb_access_token: fake('fb-token', 30),
    fb_app_secret: fake('fb-secret', 30),
    fb_app_id: draw.sometimes(30, () => draw.digits(9)),
    fb_ads_pixel_id: draw.sometimes(30, () => draw.digits(9)),
  };
}

function bridgeHead({ seed, counts, ids }: World, index: number) {
  const campaign = index % Math.ceil(counts.bridges / 4);
  const niche = niches[campaign % niches.length] ?? niches[0];
  return {
    id: ids.bridges.idOf(index),
    uid: ids.users.idOf(mix(seed, 8, index) % counts.users),
    niche,
    campaign_id: String(300 + campaign),
    campaign_name: `${seasons[campaign % seasons.length] ?? seasons[0]} ${niche} ${campaign + 1}`,
  };
}

// Apostrophes and letters beyond ASCII are intentional.
const firstNames = ['Mary', 'Linda', 'Mateo', 'Priya', 'Wei', 'Kwame', 'Amélie', 'José', 'Zoë', 'Søren', 'Łukasz', "D'Angelo"] as const;

const lastNames = ['Smith', 'Garcia', 'Patel', "O'Brien", 'St. Clair', 'Smith-Jones', 'Nguyễn', 'Müller', 'Gagné', 'Žižka'] as const;

const niches = ['auto', 'debt', 'home', 'ins', 'legal', 'loan', 'solar', 'tax'] as const;
const seasons = ['Spring', 'Summer', 'Autumn', 'Winter', 'Year-End', 'Back to School'] as const;
const referers = ['https://example.com/quote', 'https://example.org/apply?step=2&from=home', 'https://www.example.net/'] as const;
const tags = ['north', 'call back', 'size 5" screen', 'red, blue', 'päivä', 'two\nlines'] as const;
const metas = [
  '{"utm_source":"mail","variant":"B"}',
  'said "call after 5", then hung up',
  'line one\nline two, with a comma',
  'C:\\leads\\import.csv',
] as const;

function userRow({ ids }: World, draw: Draw, index: number): FullRow<typeof collections.users> {
  const uid = ids.users.idOf(index);
  return { uid, email: emailOf(draw.pick(firstNames), draw.pick(lastNames), uid), affid: affidOf(uid) };
}

function affidOf(uid: string): string {
  return String(9000 + Number(uid));
}

/** In an example domain (RFC 2606); numbers keep apart people of one name. */
function emailOf(firstname: string, lastname: string, number: string): string {
  return `${slug(firstname)}.${slug(lastname)}.${number}@example.${number.endsWith('3') ? 'org' : 'com'}`;
}

function slug(name: string): string {
  const ascii = name.normalize('NFD').replace(/[^A-Za-z]/g, '');
  return ascii.toLowerCase();
}

const legacy = 'LEGACY - NO LONGER USED';

function linkRow(world: World, draw: Draw, index: number): FullRow<typeof collections.links> {
  const { id: bridge_id, uid, niche } = bridgeHead(world, draw.below(world.counts.bridges));
  const offerid = draw.digits(5);
  return {
    id: world.ids.links.idOf(index),
    uid,
    name: `${niche} link ${index + 1}`,
    chome_url: legacy,
    url_loggedout: legacy,
    url_loggedin: `https://example.com/${niche}?offer=${offerid}&step=1`,
    fbpixel: draw.digits(9),
    fbpxtype: draw.sometimes(60, () => draw.pick(['Lead', 'PageView', 'Purchase'])),
    analytics_id: `UA-000${draw.digits(5)}-${1 + draw.below(3)}`,
    timestamp: String(1_656_633_600 + index * 1800 + draw.below(1800)),
    nofb: draw.flag(20),
    nopx: draw.flag(20),
    offerid,
    offerid_rand: draw.sometimes(30, () => [draw.digits(5), draw.digits(5)].join(',')),
    affid: affidOf(uid),
    affsub: draw.sometimes(40, () => `sub${draw.below(40)}`),
    folders: draw.sometimes(30, () => draw.pick(['archive', 'A/B, old', 'client "north"'])),
    bridge_id,
    hybrid_strict: draw.flag(50),
    mc_swagger_key: draw.sometimes(40, () => `fake-swagger-${draw.hex()}`),
  };
}

interface Entry {
  readonly code: string;
  readonly city: City;
}

let sorted: readonly Entry[] | undefined;

/** By area code, the same for every seed. One small city in ten is left out, so that some zipcodes have no match. */
function areaCodeEntries(): readonly Entry[] {
  sorted ??= places()
    .cities.flatMap((city) => {
      if (city.zips === 1 && mix(0, 6, city.position) % 10 === 0) return [];
      const codes = new Set([0, 1, 2].map((drawn) => areaCodeOf(city, drawn)));
      return [...codes].map((code) => ({ code, city }));
    })
    .sort((a, b) => Number(a.code) - Number(b.code) || a.city.position - b.city.position);
  return sorted;
}

function areaCodeRow(seed: number, index: number): FullRow<typeof collections.areacodes> {
  const { code, city } = itemAt(areaCodeEntries(), index);
  const { position } = city;
  const share = (purpose: number) => mix(seed, purpose, Number(code) * 0x1_0000 + position) / 0x1_0000_0000;
  return {
    area_code: code,
    city: city.name,
    state: city.state,
    percent_of_area_code_in_city: (100 * share(6) ** 2).toFixed(2),
    percent_of_city_in_area_code: (100 * share(5)).toFixed(2),
    city_fips_geoid: String(city.stateNumber).padStart(2, '0') + String(position).padStart(5, '0'),
    city_population: String(city.zips * (1 + (mix(seed, 7, position) % 6000))),
  };
}

/** One lead in eight is of a person among the last thousand leads; a third of these has another e-mail, a third another cell phone. */
function leadRow(world: World, draw: Draw, index: number): FullRow<typeof collections.leads> {
  const lead = drawnLead(world, draw, index);
  const drawn = mix(world.seed, 9, index);
  if (index === 0 || drawn % 8 > 0) return lead;
  const before = index - 1 - (mix(world.seed, 10, index) % Math.min(index, 1000));
  draw.seek(before);
  const { firstname, middlename, lastname, gender, language, sin_number, ...known } = drawnLead(world, draw, before);
  const { age, marital_status, zipcode, home_phone, work_phone } = known;
  const changed = (drawn >>> 3) % 3;
  return {
    ...lead,
    ...{ firstname, middlename, lastname, age, marital_status, gender, language, home_phone, work_phone, zipcode, sin_number },
    email: changed === 1 ? emailOf(firstname, lastname, lead.lead_id) : known.email,
    cell_phone: changed === 2 ? lead.cell_phone : known.cell_phone,
  };
}

function drawnLead(world: World, draw: Draw, index: number): FullRow<typeof collections.leads> {
  const { counts, ids, firstSecond, secondsApart } = world;
  const lead_id = ids.leads.idOf(index);
  const owner = bridgeHead(world, draw.below(counts.bridges));
  const firstname = draw.pick(firstNames);
  const lastname = draw.pick(lastNames);
  const home = homeOf(world, draw);
  const second = firstSecond + index * secondsApart + draw.below(secondsApart);
  return {
    lead_id,
    bridge_id: owner.id,
    bridge_uid: owner.uid,
    aff_sub: draw.sometimes(50, () => `sub${draw.below(40)}`),
    tag_string_local: draw.sometimes(20, () => draw.pick(tags)),
    psid: draw.sometimes(60, () => `ps-${draw.digits(8)}`),
    lead_accepted: draw.flag(70),
    converted_on_offer: draw.flag(15),
    is_valid: draw.flag(90),
    campaign_id: owner.campaign_id,
    campaign_name: owner.campaign_name,
    firstname,
    middlename: draw.sometimes(30, () => draw.pick(firstNames)),
    lastname,
    // This draw decides nothing, but without it all later values would be others.
    age: draw.sometimes(100, () => String(18 + draw.below(73))),
    email: emailOf(firstname, lastname, lead_id),
    marital_status: draw.sometimes(70, () => draw.pick(['single', 'married', 'divorced', 'widowed'])),
    gender: draw.pick(['F', 'M', 'F', 'M', 'X']),
    language: draw.pick(['en', 'en', 'en', 'es', 'fr']),
    home_phone: phoneIn(home.areaCode, draw),
    work_phone: draw.sometimes(40, () => phoneIn(home.areaCode, draw)),
    cell_phone: phoneIn(home.areaCode, draw),
    zipcode: home.zipcode,
    sin_number: `000${draw.digits(6)}`,
    lead_type: draw.sometimes(85, () => draw.pick(['web', 'call', 'chat'])),
    referer: draw.sometimes(60, () => draw.pick(referers)),
    source: draw.pick(['search', 'social', 'email', 'display', 'partner', 'call center']),
    timestamp: String(second),
    yearmonthday: new Date(second * 1000).toISOString().slice(0, 10).replaceAll('-', ''),
    uid: ids.users.idOf(draw.below(counts.users)),
    lead_status: draw.pick(['new', 'sent', 'sold', 'rejected', 'returned', 'on hold']),
    // Reserved for documentation (RFC 5737).
    ip_address: `${draw.pick(['192.0.2', '198.51.100', '203.0.113'])}.${draw.below(256)}`,
    meta: draw.sometimes(25, () => draw.pick(metas)),
  };
}

/** Of a hundred leads, two have a zipcode that does not exist. */
function homeOf({ canadian }: World, draw: Draw): { readonly zipcode: string; readonly areaCode: string } {
  const { homes, firstCanadian } = places();
  const drawn = draw.below(homes.length);
  const { zip, city } = itemAt(homes, canadian ? drawn : drawn % firstCanadian);
  const areaCode = areaCodeOf(city, draw.below(6));
  const kind = draw.below(100);
  if (kind < 2) return { zipcode: `000${draw.digits(2)}`, areaCode };
  return { zipcode: zip.length === 3 ? `${zip} ${draw.below(10)}${draw.pick(['A', 'B', 'C', 'E', 'G'])}${draw.below(10)}` : zip, areaCode };
}

/** Numbers reserved for fiction (555-01xx); one in twelve has a country code 1. */
function phoneIn(areaCode: string, draw: Draw): string {
  return `${draw.below(12) === 0 ? '1' : ''}${areaCode}55501${draw.digits(2)}`;
}
