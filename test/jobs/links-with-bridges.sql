-- links.csv
select l.id, l.name, l.bridge_id, b.title as bridge_title, b.niche as bridge_niche
from links l join bridges b on l.bridge_id = b.id
order by l.position;
