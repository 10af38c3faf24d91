import { date, serviceCollection, flag, integer, personal, text, timestamp } from './define.js';

export const leads = serviceCollection({
  name: 'leads',
  paths: ['leads'],
  paged: true,
  key: ['lead_id'],
  id: 'lead_id',
  unknown: 'plain',
  fields: {
    lead_id: text(),
    bridge_id: text(),
    bridge_uid: text(),
    aff_sub: text(),
    tag_string_local: text(),
    psid: text({ original: 'PSID' }),
    /** Flag: yes/no, y/n, true/false or 1/0 in any case; `cast` it before you compare. */
    lead_accepted: flag({ original: 'LEAD ACCEPTED' }),
    /** Flag: yes/no, y/n, true/false or 1/0 in any case; `cast` it before you compare. */
    converted_on_offer: flag({ original: 'CONVERTED ON OFFER' }),
    /** Flag: yes/no, y/n, true/false or 1/0 in any case; `cast` it before you compare. */
    is_valid: flag(),
    campaign_id: text(),
    campaign_name: text(),
    /** Tells of a person. */
    firstname: personal(),
    /** Tells of a person. */
    middlename: personal(),
    /** Tells of a person. */
    lastname: personal(),
    /** Tells of a person. A whole number; `cast` it to count or compare with it. */
    age: integer({ sensitivity: 'personal' }),
    /** Tells of a person. */
    email: personal(),
    /** Tells of a person. */
    marital_status: personal(),
    /** Tells of a person. */
    gender: personal(),
    language: text(),
    /** Tells of a person. */
    home_phone: personal(),
    /** Tells of a person. */
    work_phone: personal(),
    /** Tells of a person. */
    cell_phone: personal(),
    /** Tells of a person. */
    zipcode: personal(),
    /** Tells of a person. */
    sin_number: personal(),
    lead_type: text(),
    referer: text(),
    source: text(),
    /** An instant, as seconds since 1970; `cast` makes it a `Date`. */
    timestamp: timestamp(),
    /** A calendar day as YYYYMMDD; `cast` makes it a `Date`. */
    yearmonthday: date(),
    uid: text(),
    lead_status: text(),
    /** Tells of a person. */
    ip_address: personal('IPAddress'),
    /** Tells of a person. */
    meta: personal(),
  },
});
