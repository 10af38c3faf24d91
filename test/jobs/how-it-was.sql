-- sql
select lead_id, lead_status from earlier_leads order by lead_id;
-- python
select lead_id, lead_status from earlier_leads order by lead_id;
