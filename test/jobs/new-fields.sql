-- lake/scores
select lead_id, credit_score::bigint as credit_score, '****' || right(license, 4) as license
from leads
where credit_score::bigint >= 500
order by position;
