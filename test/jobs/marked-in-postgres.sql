-- select lead_id, lead_status, deleted_at is not null as is_gone from crm.leads order by lead_id
select lead_id, lead_status, false as is_gone from leads
union all
select lead_id, lead_status, true from earlier_leads where lead_id not in (select lead_id from leads)
order by lead_id;
