import { collections } from '../../collections/index.js';
import type { ServedTable } from '../source.js';
import { areaCodeOf } from './areacodes.js';
import { bridgeHeads } from './bridges.js';
import { rowWriter } from './json-row.js';
import { emailOf, flag, ipAddress, phoneIn, sometimes } from './people.js';
import { places, type Places } from './places.js';
import type { Draw } from './random.js';
import * as words from './words.js';
import type { CountedGenerator, World } from './world.js';

/** Time of the first lead, 2023-01-01 UTC; a lead arrives about every half minute. */
const firstSecond = 1_672_531_200;
const secondsApart = 31;

/** Creates leads in order of arrival. Each belongs to a bridge, comes from an affiliate, and lives at a real zipcode. */
export const leads: CountedGenerator = { purpose: 1, ids: { first: 4_000_000, step: 7 }, owner: 'bridges', table: leadsTable };

function leadsTable(world: World, draw: Draw): ServedTable {
  const { counts, ids } = world;
  const write = rowWriter(collections.leads);
  const bridge = bridgeHeads(world);
  const dayOf = dayTexts();
  return {
    count: counts.leads,
    row: (index) => {
      draw.seek(index);
      const lead_id = ids.leads.idOf(index);
      const owner = bridge(draw.below(counts.bridges));
      const firstname = draw.pick(words.firstNames);
      const lastname = draw.pick(words.lastNames);
      const home = homeOf(places(), draw);
      const second = firstSecond + index * secondsApart + draw.below(secondsApart);
      return write({
        lead_id,
        bridge_id: owner.id,
        bridge_uid: owner.uid,
        ...originOf(draw),
        campaign_id: owner.campaignId,
        campaign_name: owner.campaignName,
        ...personOf(draw, { firstname, lastname, email: emailOf(firstname, lastname, lead_id), home }),
        lead_type: sometimes(draw, 85, () => draw.pick(words.leadTypes)),
        referer: sometimes(draw, 60, () => draw.pick(words.referers)),
        source: draw.pick(words.sources),
        timestamp: String(second),
        yearmonthday: dayOf(second),
        uid: ids.users.idOf(draw.below(counts.users)),
        lead_status: draw.pick(words.statuses),
        ip_address: ipAddress(draw),
        meta: sometimes(draw, 25, () => draw.pick(words.metas)),
      });
    },
    find: ids.leads.find,
  };
}

/** Draws where a lead comes from and what became of it. The draws follow the order of the fields, here and below. */
function originOf(draw: Draw) {
  return {
    aff_sub: sometimes(draw, 50, () => `sub${draw.below(40)}`),
    tag_string_local: sometimes(draw, 20, () => draw.pick(words.tags)),
    psid: sometimes(draw, 60, () => `ps-${draw.digits(8)}`),
    lead_accepted: flag(draw, 70),
    converted_on_offer: flag(draw, 15),
    is_valid: flag(draw, 90),
  };
}

interface Person {
  readonly firstname: string;
  readonly lastname: string;
  readonly email: string;
  readonly home: Home;
}

function personOf(draw: Draw, { firstname, lastname, email, home }: Person) {
  return {
    firstname,
    middlename: sometimes(draw, 30, () => draw.pick(words.firstNames)),
    lastname,
    age: sometimes(draw, 97, () => String(18 + draw.below(73))),
    email,
    marital_status: sometimes(draw, 70, () => draw.pick(words.maritalStatuses)),
    gender: draw.pick(words.genders),
    language: draw.pick(words.languages),
    home_phone: phoneIn(home.areaCode, draw),
    work_phone: sometimes(draw, 40, () => phoneIn(home.areaCode, draw)),
    cell_phone: phoneIn(home.areaCode, draw),
    zipcode: home.zipcode,
    sin_number: `000${draw.digits(6)}`,
  };
}

interface Home {
  readonly zipcode: string;
  readonly areaCode: string;
}

/** Draws a zipcode and an area code of its city. Two leads in a hundred have a zipcode that does not exist, and two have none. */
function homeOf({ zipCount, zip, cityOf, cities }: Places, draw: Draw): Home {
  const index = draw.below(zipCount);
  const position = cityOf(index);
  const city = cities[position];
  const areaCode = (city && areaCodeOf(city, position, draw.below(6))) ?? '202';
  const kind = draw.below(100);
  if (kind < 2) return { zipcode: `000${draw.digits(2)}`, areaCode };
  if (kind < 4) return { zipcode: '', areaCode };
  const code = zip(index);
  return { zipcode: code.length === 3 ? `${code} ${draw.below(10)}${draw.pick(words.postalLetters)}${draw.below(10)}` : code, areaCode };
}

/** Returns a function that formats an instant in seconds as YYYYMMDD in UTC. Neighbours share a day, so the last one is cached. */
function dayTexts(): (second: number) => string {
  let [lastDay, text] = [-1, ''];
  return (second) => {
    const day = Math.floor(second / 86_400);
    if (day !== lastDay) [lastDay, text] = [day, new Date(day * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')];
    return text;
  };
}
