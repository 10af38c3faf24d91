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
    /** Personal data. */
    firstname: personal(),
    /** Personal data. */
    middlename: personal(),
    /** Personal data. */
    lastname: personal(),
    /** Personal data. A whole number; `cast` it to count or compare with it. */
    age: integer({ sensitivity: 'personal' }),
    /** Personal data. */
    email: personal(),
    /** Personal data. */
    marital_status: personal(),
    /** Personal data. */
    gender: personal(),
    language: text(),
    /** Personal data. */
    home_phone: personal(),
    /** Personal data. */
    work_phone: personal(),
    /** Personal data. */
    cell_phone: personal(),
    /** Personal data. */
    zipcode: personal(),
    /** Personal data. */
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
    /** Personal data. */
    ip_address: personal('IPAddress'),
    /** Personal data. */
    meta: personal(),
  },
});
