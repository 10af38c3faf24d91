-- lake/leads
select lead_id, to_timestamp(timestamp::bigint) as timestamp, nullif(age, '')::bigint as age,
  lower(lead_accepted) in ('yes', '1', 'true', 'y') as lead_accepted, strptime(yearmonthday, '%Y%m%d')::date as yearmonthday,
  strftime(to_timestamp(timestamp::bigint), '%Y-%m') as month
from leads
order by month, position;
