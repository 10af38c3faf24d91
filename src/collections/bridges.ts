import { serviceCollection, flag, integer, personal, secret, text, timestamp } from './define.js';

export const bridges = serviceCollection({
  name: 'bridges',
  paths: ['bridges'],
  paged: true,
  key: ['id'],
  id: 'id',
  unknown: 'secret',
  fields: {
    id: text(),
    /** A whole number; `cast` it to count or compare with it. */
    delaytime: integer(),
    /** A whole number; `cast` it to count or compare with it. */
    maxhourly: integer(),
    title: text(),
    uid: text(),
    /** Credential-like: withheld unless it is revealed. */
    crm_key: secret('CRM_KEY'),
    /** Credential-like: withheld unless it is revealed. */
    tc_base64_api_key: secret('TC_base64ApiKey'),
    tc_campaign_id: text({ original: 'TC_campaignId' }),
    /** Personal data. */
    name: personal(),
    niche: text(),
    method: text(),
    /** An instant, as seconds since 1970; `cast` makes it a `Date`. */
    timestamp: timestamp(),
    campaign_id: text(),
    campaign_name: text(),
    /** Flag: yes/no, y/n, true/false or 1/0 in any case; `cast` it before you compare. */
    leadcapsule: flag(),
    /** Flag: yes/no, y/n, true/false or 1/0 in any case; `cast` it before you compare. */
    lexington: flag(),
    sub_one: text({ original: 'subOne' }),
    sub_two: text({ original: 'subTwo' }),
    sub_three: text({ original: 'subThree' }),
    adnum: text(),
    /** Credential-like: withheld unless it is revealed. */
    mc_swagger_key: secret(),
    /** Credential-like: withheld unless it is revealed. */
    smsbusiness_key: secret(),
    smsbusiness_cid: text(),
    /** Credential-like: withheld unless it is revealed. */
    fb_access_token: secret(),
    /** Credential-like: withheld unless it is revealed. */
    fb_app_secret: secret(),
    fb_app_id: text(),
    fb_ads_pixel_id: text(),
  },
});
