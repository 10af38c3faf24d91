-- campaigns.csv
select campaign_id, campaign_name, count(*) as leads, count(*) filter (lead_status = 'sold') as sold,
  count(distinct lower(email)) as emails, regexp_replace(avg(age::bigint)::varchar, '\.0$', '') as mean_age
from leads
group by all
order by campaign_id, campaign_name;
