-- newest.csv
select lead_id, email, timestamp
from leads
qualify row_number() over (partition by lower(trim(email)) order by timestamp::bigint desc, position) = 1
order by timestamp::bigint desc, position;
