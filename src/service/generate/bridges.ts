import { collections } from '../../collections/index.js';
import type { ServedTable } from '../source.js';
import { rowWriter } from './json-row.js';
import { flag, sometimes } from './people.js';
import { mix, purposes, type Draw } from './random.js';
import { firstNames, lastNames, niches, seasons } from './words.js';
import type { CountedGenerator, World } from './world.js';

/** Creates bridges, each owned by a user and in one campaign. Values that look like credentials begin with `fake-`. */
export const bridges: CountedGenerator = { purpose: 2, ids: { first: 1000, step: 3 }, owner: 'users', table: bridgesTable };

function bridgesTable(world: World, draw: Draw): ServedTable {
  const { counts, ids } = world;
  const write = rowWriter(collections.bridges);
  const bridge = bridgeHeads(world);
  const fake = (kind: string, percent: number): string => sometimes(draw, percent, () => `fake-${kind}-${draw.hex()}`);
  return {
    count: counts.bridges,
    row: (index) => {
      draw.seek(index);
      const { id, uid, niche, campaignId, campaignName } = bridge(index);
      return write({
        id,
        delaytime: String(draw.below(600)),
        maxhourly: String(10 * (1 + draw.below(50))),
        title: `${niche} bridge ${index + 1}`,
        uid,
        crm_key: fake('crm', 100),
        tc_base64_api_key: fake('tc', 50),
        tc_campaign_id: sometimes(draw, 50, () => draw.digits(6)),
        name: `${draw.pick(firstNames)} ${draw.pick(lastNames)}`,
        niche,
        method: draw.pick(['post', 'ping', 'form', 'mail']),
        timestamp: String(1_640_995_200 + index * 3600 + draw.below(3600)),
        campaign_id: campaignId,
        campaign_name: campaignName,
        leadcapsule: flag(draw, 40),
        lexington: flag(draw, 10),
        sub_one: draw.pick(['main', 'mobile', draw.digits(4)]),
        sub_two: draw.pick(['night, weekend', 'day', 'any']),
        sub_three: sometimes(draw, 30, () => `list ${draw.below(9)}`),
        adnum: draw.digits(5),
        mc_swagger_key: fake('swagger', 40),
        smsbusiness_key: fake('sms', 40),
        smsbusiness_cid: sometimes(draw, 40, () => draw.digits(8)),
        fb_access_token: fake('fb-token', 30),
        fb_app_secret: fake('fb-secret', 30),
        fb_app_id: sometimes(draw, 30, () => draw.digits(9)),
        fb_ads_pixel_id: sometimes(draw, 30, () => draw.digits(9)),
      });
    },
    find: ids.bridges.find,
  };
}

/** What rows of other collections repeat of a bridge. */
interface BridgeHead {
  readonly id: string;
  readonly uid: string;
  readonly niche: string;
  readonly campaignId: string;
  readonly campaignName: string;
}

/** What there is to repeat, by the place of a bridge in its list. */
export function bridgeHeads({ seed, counts, ids }: World): (index: number) => BridgeHead {
  return (index) => {
    const draw = mix(seed, purposes.owner, index);
    const campaign = index % Math.ceil(counts.bridges / 4);
    const niche = niches[campaign % niches.length] ?? niches[0];
    return {
      id: ids.bridges.idOf(index),
      uid: ids.users.idOf(draw % counts.users),
      niche,
      campaignId: String(300 + campaign),
      campaignName: `${seasons[campaign % seasons.length] ?? seasons[0]} ${niche} ${campaign + 1}`,
    };
  };
}
