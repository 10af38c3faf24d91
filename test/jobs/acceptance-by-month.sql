-- acceptance.csv
with groups as (
  select campaign_id, strftime(to_timestamp(timestamp::bigint), '%Y-%m') as month, count(*) as leads,
    count(*) filter (lower(lead_accepted) in ('yes', 'y', 'true', '1')) as accepted
  from leads
  group by all
)
select *, regexp_replace(round(100.0::double * accepted / leads, 1)::varchar, '\.0$', '') as percent
from groups
order by round(100.0::double * accepted / leads, 1) desc, campaign_id, month
limit 10;
