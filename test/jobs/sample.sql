-- sample.csv
select lead_id, email
from leads
where lead_id in (select lead_id from read_csv('sample.csv', all_varchar = true))
order by position;
