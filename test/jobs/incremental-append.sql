-- lake/leads
select lead_id, campaign_id, lead_status
from leads
order by position;
