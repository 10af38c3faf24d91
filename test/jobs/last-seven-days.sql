-- leads.csv
select lead_id, timestamp
from leads
where to_timestamp(timestamp::bigint) >= current_date - 7
order by position;
