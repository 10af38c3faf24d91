-- links.ndjson
select l.id, l.uid, u.email as user_email
from links l left join users u on l.uid = u.uid
order by l.position;
