import type { collections } from '../../collections/index.js';
import { bridgeHeads } from './bridges.js';
import { areaCodeOf, places } from './places.js';
import type { Draw } from './random.js';
import { emailOf } from './users.js';
import * as words from './words.js';
import type { FullRow, World } from './world.js';

/** Time of the first lead, 2023-01-01 UTC; a lead arrives about every half minute. */
const firstSecond = 1_672_531_200;
const secondsApart = 31;

/** Creates leads in order of arrival. Each belongs to a bridge, comes from an affiliate, and lives at a real zipcode. */
export function leadRows(world: World, draw: Draw): (index: number) => FullRow<typeof collections.leads> {
  const { counts, ids } = world;
  const bridge = bridgeHeads(world);
  return (index) => {
    const lead_id = ids.leads.idOf(index);
    const owner = bridge(draw.below(counts.bridges));
    const firstname = draw.pick(words.firstNames);
    const lastname = draw.pick(words.lastNames);
    const home = homeOf(draw);
    const second = firstSecond + index * secondsApart + draw.below(secondsApart);
    return {
      lead_id,
      bridge_id: owner.id,
      bridge_uid: owner.uid,
      aff_sub: draw.sometimes(50, () => `sub${draw.below(40)}`),
      tag_string_local: draw.sometimes(20, () => draw.pick(words.tags)),
      psid: draw.sometimes(60, () => `ps-${draw.digits(8)}`),
      lead_accepted: draw.flag(70),
      converted_on_offer: draw.flag(15),
      is_valid: draw.flag(90),
      campaign_id: owner.campaignId,
      campaign_name: owner.campaignName,
      firstname,
      middlename: draw.sometimes(30, () => draw.pick(words.firstNames)),
      lastname,
      age: draw.sometimes(97, () => String(18 + draw.below(73))),
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
      referer: draw.sometimes(60, () => draw.pick(words.referers)),
      source: draw.pick(['search', 'social', 'email', 'display', 'partner', 'call center']),
      timestamp: String(second),
      yearmonthday: new Date(second * 1000).toISOString().slice(0, 10).replaceAll('-', ''),
      uid: ids.users.idOf(draw.below(counts.users)),
      lead_status: draw.pick(['new', 'sent', 'sold', 'rejected', 'returned', 'on hold']),
      // Blocks reserved for documentation (RFC 5737).
      ip_address: `${draw.pick(['192.0.2', '198.51.100', '203.0.113'])}.${draw.below(256)}`,
      meta: draw.sometimes(25, () => draw.pick(words.metas)),
    };
  };
}

/** Draws a zipcode and an area code of its city. Two leads in a hundred have a zipcode that does not exist, and two have none. */
function homeOf(draw: Draw): { readonly zipcode: string; readonly areaCode: string } {
  const { zips, cityOf, cities } = places();
  const index = draw.below(zips.length);
  const position = cityOf[index] ?? 0;
  const city = cities[position];
  const areaCode = city ? areaCodeOf(city, position, draw.below(6)) : '';
  const kind = draw.below(100);
  if (kind < 2) return { zipcode: `000${draw.digits(2)}`, areaCode };
  if (kind < 4) return { zipcode: '', areaCode };
  const zip = zips[index] ?? '';
  return { zipcode: zip.length === 3 ? `${zip} ${draw.below(10)}${draw.pick(['A', 'B', 'C', 'E', 'G'])}${draw.below(10)}` : zip, areaCode };
}

/** Draws ten digits with a line number reserved for fiction (555-01xx), one time in twelve after a country code 1. */
function phoneIn(areaCode: string, draw: Draw): string {
  return `${draw.below(12) === 0 ? '1' : ''}${areaCode}55501${draw.digits(2)}`;
}
