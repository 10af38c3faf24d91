import { collections } from '../../collections/index.js';
import type { ServedTable } from '../source.js';
import { bridgeHeads } from './bridges.js';
import { rowWriter } from './json-row.js';
import { flag, sometimes } from './people.js';
import type { Draw } from './random.js';
import { affidOf } from './users.js';
import type { CountedGenerator, World } from './world.js';

const legacy = 'LEGACY - NO LONGER USED';

/** Creates links, each to a bridge and owned by the bridge's user. */
export const links: CountedGenerator = { purpose: 3, ids: { first: 50_000, step: 5 }, owner: 'bridges', table: linksTable };

function linksTable(world: World, draw: Draw): ServedTable {
  const { counts, ids } = world;
  const write = rowWriter(collections.links);
  const bridge = bridgeHeads(world);
  return {
    count: counts.links,
    row: (index) => {
      draw.seek(index);
      const { id: bridge_id, uid, niche } = bridge(draw.below(counts.bridges));
      const offerid = draw.digits(5);
      return write({
        id: ids.links.idOf(index),
        uid,
        name: `${niche} link ${index + 1}`,
        chome_url: legacy,
        url_loggedout: legacy,
        url_loggedin: `https://example.com/${niche}?offer=${offerid}&step=1`,
        fbpixel: draw.digits(9),
        fbpxtype: sometimes(draw, 60, () => draw.pick(['Lead', 'PageView', 'Purchase'])),
        analytics_id: `UA-000${draw.digits(5)}-${1 + draw.below(3)}`,
        timestamp: String(1_656_633_600 + index * 1800 + draw.below(1800)),
        nofb: flag(draw, 20),
        nopx: flag(draw, 20),
        offerid,
        offerid_rand: sometimes(draw, 30, () => [draw.digits(5), draw.digits(5)].join(',')),
        affid: affidOf(uid),
        affsub: sometimes(draw, 40, () => `sub${draw.below(40)}`),
        folders: sometimes(draw, 30, () => draw.pick(['archive', 'A/B, old', 'client "north"'])),
        bridge_id,
        hybrid_strict: flag(draw, 50),
        mc_swagger_key: sometimes(draw, 40, () => `fake-swagger-${draw.hex()}`),
      });
    },
    find: ids.links.find,
  };
}
