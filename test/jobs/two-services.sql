-- leads-with-users.csv
select l.lead_id, l.uid, u.email as user_email, u.affid as user_affid
from leads l left join users u on l.uid = u.uid
order by l.position;
