-- people.csv
with leads as (
  select *, regexp_extract(regexp_replace(cell_phone, '[^0-9]', '', 'g'), '(\d{10})$', 1) as ten from leads
), known as (
  select *, case when ten <> '' then '+1' || ten end as phone, lower(trim(email)) as address from leads
), by_phone as (
  select * from known
  qualify phone is null or row_number() over (partition by phone order by timestamp::bigint desc, position) = 1
)
select lead_id, phone, address
from by_phone
qualify coalesce(address, '') = '' or row_number() over (partition by address order by timestamp::bigint desc, position) = 1
order by timestamp::bigint desc, position;
