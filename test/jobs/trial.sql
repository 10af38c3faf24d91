-- trial.csv
select area_code, city, state
from areacodes
order by position
limit 20 * 30;
