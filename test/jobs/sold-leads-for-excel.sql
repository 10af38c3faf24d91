-- sold.csv
select lead_id, regexp_replace(zipcode, '^0.*$', '="\0"') as zipcode, replace((age::int / 10)::varchar, '.', ',') as decades,
  strftime(to_timestamp(timestamp::bigint) at time zone 'Europe/Berlin', '%Y-%m-%d %H:%M:%S') as timestamp,
  strftime(strptime(yearmonthday, '%Y%m%d'), '%Y-%m-%d') as yearmonthday
from leads
where lead_status = 'sold' and to_timestamp(timestamp::bigint) >= current_date - 30 and to_timestamp(timestamp::bigint) < current_date
order by position;
