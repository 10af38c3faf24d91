import type { collections } from '../../collections/index.js';
import { mix, type Draw } from './random.js';
import { firstNames, lastNames, niches, seasons } from './words.js';
import type { FullRow, World } from './world.js';

/** Creates bridges, each owned by a user and in one campaign. Values that look like credentials begin with `fake-`. */
export function bridgeRows(world: World, draw: Draw): (index: number) => FullRow<typeof collections.bridges> {
  const bridge = bridgeHeads(world);
  const fake = (kind: string, percent: number): string => draw.sometimes(percent, () => `fake-${kind}-${draw.hex()}`);
  return (index) => {
    const { id, uid, niche, campaignId, campaignName } = bridge(index);
    return {
      id,
      delaytime: String(draw.below(600)),
      maxhourly: String(10 * (1 + draw.below(50))),
      title: `${niche} bridge ${index + 1}`,
      uid,
      crm_key: fake('crm', 100),
      tc_base64_api_key: fake('tc', 50),
      tc_campaign_id: draw.sometimes(50, () => draw.digits(6)),
      name: `${draw.pick(firstNames)} ${draw.pick(lastNames)}`,
      niche,
      method: draw.pick(['post', 'ping', 'form', 'mail']),
      timestamp: String(1_640_995_200 + index * 3600 + draw.below(3600)),
      campaign_id: campaignId,
      campaign_name: campaignName,
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
  };
}

/** Returns what rows of other collections repeat of a bridge, by its position in the list. */
export function bridgeHeads({ seed, counts, ids }: World) {
  return (index: number) => {
    const campaign = index % Math.ceil(counts.bridges / 4);
    const niche = niches[campaign % niches.length] ?? niches[0];
    return {
      id: ids.bridges.idOf(index),
      uid: ids.users.idOf(mix(seed, 8, index) % counts.users),
      niche,
      campaignId: String(300 + campaign),
      campaignName: `${seasons[campaign % seasons.length] ?? seasons[0]} ${niche} ${campaign + 1}`,
    };
  };
}
