-- select lead_status, leads from crm.statuses order by lead_status
select lead_status, count(*) as leads from leads group by lead_status order by lead_status;
