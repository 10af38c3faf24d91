-- users.csv
select uid, email, affid from users order by position;
-- links.csv
select id, uid, name from links order by position;
-- bridges.csv
select id, title from bridges order by position;
