-- newest.csv
select lead_id, campaign_id, lead_status, strftime(make_timestamp(timestamp::bigint * 1000000), '%Y-%m-%dT%H:%M:%S.000Z') as timestamp
from (
  select *, row_number() over (partition by lower(email) order by timestamp::bigint desc, lead_id) as place
  from leads
  where email <> ''
)
where place = 1
order by lead_id;
-- states.csv
select campaign_id, count(*) filter (lead_status = 'new') as "new", count(*) filter (lead_status = 'sold') as sold
from leads
group by campaign_id
order by campaign_id;
