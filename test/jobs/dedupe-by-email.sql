-- leads.csv
select lead_id, email
from leads
qualify row_number() over (partition by lower(trim(email)) order by position) = 1
order by position;
