-- phones.csv
with phones as (
  select position, lead_id, regexp_extract(regexp_replace(home_phone, '[^0-9]', '', 'g'), '^1?(\d{3})\d{7}$', 1) as code from leads
), largest as (
  select area_code, arg_max(city, city_population::bigint) as city, arg_max(state, city_population::bigint) as state from areacodes group by all
)
select lead_id, nullif(code, '') as phone_area, city as phone_city, state as phone_state
from phones left join largest on code = area_code
order by position;
