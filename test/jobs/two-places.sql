-- lake/bridges
select id, title, nullif(maxhourly, '')::bigint as maxhourly from bridges order by title, id;
-- bridges.csv
select id, title, maxhourly from bridges order by title, id;
