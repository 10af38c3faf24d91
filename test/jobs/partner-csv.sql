-- partner.csv
select lead_id, campaign_id, campaign_name, lead_type, source, timestamp
from leads
where lead_status = 'sold' and strftime(to_timestamp(timestamp::bigint), '%Y-%m') = '2026-03'
order by position;
