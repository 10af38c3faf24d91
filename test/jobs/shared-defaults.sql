-- bridges.csv
select id, title from bridges order by position;
-- links.csv
select id, uid from links order by position;
-- users.csv
select uid, email, affid from users order by position;
