-- users.csv
select u.uid, u.email, u.affid, l.id as link_id, l.name as link_name
from users u left join links l on u.uid = l.uid
order by u.position, l.position;
