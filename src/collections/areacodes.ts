import { decimal, serviceCollection, integer, text } from './define.js';

export const areacodes = serviceCollection({
  name: 'areacodes',
  paths: ['areacodes', 'areacode'],
  paged: true,
  key: ['area_code', 'city', 'state'],
  id: 'area_code',
  unknown: 'plain',
  fields: {
    area_code: text(),
    city: text(),
    state: text(),
    percent_of_area_code_in_city: decimal(),
    percent_of_city_in_area_code: decimal(),
    city_fips_geoid: text(),
    city_population: integer(),
  },
});
