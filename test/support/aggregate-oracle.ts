/** Leads made by DuckDB and its results for them: the oracle for `aggregate`. */

/** The results to compute, in every type: call and SQL by name. */
const results: Readonly<Record<string, readonly [call: string, sql: string]>> = {
  leads: ['count()', 'count(*)'],
  sold: ["count(lead_status == 'sold')", "count(*) filter (lead_status = 'sold')"],
  emails: ['count_distinct(email)', 'count(distinct email)'],
  ages: ['count_distinct(age)', 'count(distinct age)'],
  total: ['sum(age)', 'sum(age)'],
  youngest: ['min(age)', 'min(age)'],
  mean: ['avg(age)', 'avg(age)'],
  points: ['sum(num(aff_sub))', 'fsum(points)'],
  average: ['avg(num(aff_sub))', 'favg(points)'],
  best: ['max(num(aff_sub))', 'max(points)'],
  first: ['min(timestamp)', 'min(timestamp)'],
  last: ['max(timestamp)', 'max(timestamp)'],
  day: ['max(yearmonthday)', 'max(yearmonthday)'],
  word: ['min(campaign_name)', 'min(campaign_name)'],
  other: ['max(campaign_name)', 'max(campaign_name)'],
  flagged: ['max(flag(lead_accepted))', 'max(lead_accepted)'],
};

/** Results that DuckDB rounds more than once. */
const rounded: readonly string[] = ['mean', 'points', 'average'];

/** Returns the step as written in a pipeline file. */
export function aggregateStep(by: readonly string[], memory: string): object {
  return { aggregate: { by, memory, compute: Object.fromEntries(Object.entries(results).map(([name, [call]]) => [name, call])) } };
}

/**
 * Returns the statement that writes leads as the service sends them, one JSON object per line: with ties, empty values and Unicode in every type, in
 * a meaningless order.
 *
 * @param count Number of leads; there are about a third as many e-mail addresses.
 */
export function leadsFor(count: number, file: string): string {
  const picked = (texts: readonly string[], at: string) => `[${texts.map((text) => `'${text}'`).join()}][1 + ${at} % ${texts.length}]`;
  return `copy (select
    i::varchar as lead_id,
    (h % 97)::varchar as campaign_id,
    ${picked(['', 'Zoë', 'Ａ', '😀', 'a', 'B', 'é', 'ab', '\ue000', 'ß'], '(h // 97)')} as campaign_name,
    if(h % 11 = 0, '', 'm' || (h % ${Math.ceil(count / 3)}) || '@é.example') as email,
    if(h % 13 = 0, '', if(h % 1009 = 0, ((9007199254740993 + h % 5) * (1 - 2 * (h // 1009 % 2)))::varchar, (h % 101 - 7)::varchar)) as age,
    if(h % 5 = 0, '', strftime(date '1969-06-01' + (h % 20000)::integer, '%Y%m%d')) as yearmonthday,
    if(h % 7 = 0, '', (h % 2000000000 - 100000)::varchar) as timestamp,
    ${picked(['yes', 'No', '', '1', 'FALSE'], 'h')} as "LEAD ACCEPTED",
    ${picked(['sold', 'open', 'new'], '(h // 5)')} as lead_status,
    if(h % 19 = 0, '', (((h % 1000003) - 500000) / 7.0)::double::varchar) as aff_sub
  from (select i, (hash(i) % 4000000007)::bigint as h from range(${count}) leads(i))) to '${file}' (format json)`;
}

/** Returns the statement that stores DuckDB's groups and results in a table `expected`, in the order of the groups. */
export function expectedIn(file: string, by: readonly string[]): string {
  const typed = `select lead_id, campaign_id, campaign_name, email, lead_status, nullif(age, '')::bigint as age,
    strptime(nullif(yearmonthday, ''), '%Y%m%d')::date as yearmonthday, to_timestamp(nullif(timestamp, '')::bigint) as timestamp,
    nullif("LEAD ACCEPTED", '')::boolean as lead_accepted, nullif(aff_sub, '')::double as points
    from read_json('${file}', format = 'newline_delimited', columns = {${columns.map((name) => `'${name}': 'VARCHAR'`).join()}})`;
  const computed = Object.entries(results).map(([name, [, sql]]) => `${sql} as "${name}"`);
  const group = by.length === 0 ? '' : `group by ${by.join()} order by ${by.map((field) => `${field} nulls last`).join()}`;
  return `create or replace table expected as select ${[...by, ...computed].join()} from (${typed}) ${group}`;
}

const columns = [
  'lead_id',
  'campaign_id',
  'campaign_name',
  'email',
  'age',
  'yearmonthday',
  'timestamp',
  'LEAD ACCEPTED',
  'lead_status',
  'aff_sub',
];

/** Counts the rows of a table of files that differ from `expected`, compared by position; rounded results are equal within a relative 1e-12. */
export function differencesIn(table: string, by: readonly string[]): string {
  const names = [...by, ...Object.keys(results)];
  const same = names.map((name) =>
    rounded.includes(name)
      ? `(e."${name}" is not distinct from g."${name}" or abs(e."${name}" - g."${name}") <= 1e-12 * abs(e."${name}"))`
      : `e."${name}" is not distinct from g."${name}"`,
  );
  return `select count(*)::integer as differences, (select count(*) from expected)::integer as groups
    from (select *, row_number() over () as place from expected) e
    full join (select *, row_number() over () as place from read_parquet('${table}/*.parquet')) g using (place)
    where not coalesce(${same.join(' and ')}, false)`;
}
