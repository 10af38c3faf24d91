-- leads.csv
select lead_id, psid as "PSID", lead_accepted as "LEAD ACCEPTED", converted_on_offer as "CONVERTED ON OFFER", ip_address as "IPAddress"
from leads
order by position;
