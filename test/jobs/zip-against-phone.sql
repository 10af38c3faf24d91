-- elsewhere.csv
with phones as (
  select *, regexp_replace(coalesce(nullif(cell_phone, ''), nullif(home_phone, ''), work_phone), '[^0-9]', '', 'g') as phone from leads
), codes as (
  select position, lead_id, zipcode, regexp_extract(phone, '^1?(\d{3})\d{7}$', 1) as code from phones
), states as (
  select area_code, arg_max(state, city_population::bigint) as state from areacodes group by all
)
select lead_id, zips.state as zip_state, states.state as phone_state
from codes join states on code = area_code join zips on zipcode = zip
where zip_state <> phone_state
order by position;
