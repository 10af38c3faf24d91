-- select lead_id, lead_status, extract(epoch from created_at)::bigint as created_at, bridge_id, bridge_title from leads order by lead_id
select lead_id, lead_status, leads.timestamp as created_at, bridge_id, bridges.title as bridge_title
from (select * from leads union all select * from earlier_leads where lead_id not in (select lead_id from leads)) as leads
left join bridges on bridges.id = leads.bridge_id
order by lead_id;
