import type { collections } from '../../collections/index.js';
import { bridgeHeads } from './bridges.js';
import type { Draw } from './random.js';
import { affidOf } from './users.js';
import type { FullRow, World } from './world.js';

const legacy = 'LEGACY - NO LONGER USED';

/** Creates links, each to a bridge and owned by the bridge's user. */
export function linkRows(world: World, draw: Draw): (index: number) => FullRow<typeof collections.links> {
  const bridge = bridgeHeads(world);
  return (index) => {
    const { id: bridge_id, uid, niche } = bridge(draw.below(world.counts.bridges));
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
  };
}
