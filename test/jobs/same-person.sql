-- people.csv
with recursive leads as (
  select *, regexp_extract(regexp_replace(cell_phone, '[^0-9]', '', 'g'), '(\d{10})$', 1) as ten from leads
), known as (
  select *, case when ten <> '' then '+1' || ten end as phone, nullif(lower(trim(email)), '') as address from leads
), pairs as (
  select one.position, other.position as same from known as one join known as other on one.phone = other.phone or one.address = other.address
), reached as (
  select position, position as same from known
  union
  select reached.position, pairs.same from reached join pairs on pairs.position = reached.same
), people as (
  select position, min(same) as person from reached group by position
)
select lead_id, phone, email
from known join people using (position)
qualify row_number() over (partition by person order by timestamp::bigint desc, position) = 1
order by timestamp::bigint desc, position;
