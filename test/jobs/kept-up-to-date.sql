-- lake/leads
select lead_id, lead_status, strptime(yearmonthday, '%Y%m%d')::date as yearmonthday
from leads
order by yearmonthday, position;
