"""Reads tables night by night with programs that nobody here wrote, and compares every value with what DuckDB reads from the service itself.

usage: nights.py   takes a JSON line for each night from nights.ts, and prints one: the differences that it found
"""

import json
import os
import sys
import urllib.request

import duckdb
import duckdb_extension_avro
import duckdb_extension_delta
import duckdb_extension_httpfs
import duckdb_extension_iceberg
import polars
import pyarrow as pa
import pyarrow.dataset
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.expressions import And, GreaterThanOrEqual, IsNull, LessThan, LessThanOrEqual
from pyiceberg.table import StaticTable

ENDPOINT, KEY, SECRET = (os.environ[f"AWS_{name}"] for name in ("ENDPOINT_URL_S3", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY"))
os.environ |= {"AWS_ENDPOINT_URL": ENDPOINT, "AWS_ALLOW_HTTP": "true"}
ACCESS = {"s3.endpoint": ENDPOINT, "s3.region": "us-east-1", "s3.access-key-id": KEY, "s3.secret-access-key": SECRET}
JARS = os.environ.get("SPARK_JARS")

db = duckdb.connect()
db.execute("SET TimeZone = 'UTC'")
for name, package in {"httpfs": duckdb_extension_httpfs, "avro": duckdb_extension_avro, "iceberg": duckdb_extension_iceberg, "delta": duckdb_extension_delta}.items():
    db.execute(f"LOAD '{package.__path__[0]}/extensions/v{duckdb.__version__}/{name}.duckdb_extension'")
db.execute(f"CREATE SECRET (TYPE s3, ENDPOINT '{ENDPOINT.removeprefix('http://')}', URL_STYLE path, USE_SSL false, REGION 'us-east-1', KEY_ID '{KEY}', SECRET '{SECRET}')")
spark = None
if JARS is not None:
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.jars": ",".join(f"{JARS}/{jar}" for jar in os.listdir(JARS)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

# What a pipeline makes of the texts of the service, in DuckDB's words.
CAST = {
    "text": "{0}",
    "flag": "CASE {0} WHEN 'yes' THEN true WHEN 'no' THEN false END",
    "integer": "CAST(nullif({0}, '') AS BIGINT)",
    "decimal": "CAST(nullif({0}, '') AS DOUBLE)",
    "timestamp": "to_timestamp(CAST(nullif({0}, '') AS BIGINT))",
    "date": "CAST(strptime(nullif({0}, ''), '%Y%m%d') AS DATE)",
}


def raw(url, types):
    """The rows that the service has now, as DuckDB reads its JSON."""
    with urllib.request.urlopen(url) as reply, open("raw.json", "wb") as file:
        file.write(reply.read())
    columns = ", ".join(f"{name}: 'VARCHAR'" for name in types)
    values = ", ".join(f"{CAST[type].format(name)} AS {name}" for name, type in types.items())
    return db.execute(f"SELECT {values} FROM read_json('raw.json', format = 'array', columns = {{{columns}}})").to_arrow_table().to_pylist()


def merged(before, now, night):
    """What the rows of a night do to a table."""
    if night["mode"] == "append":
        known = {row["lead_id"] for row in before}
        return before + [row for row in now if row["lead_id"] not in known]
    if night["mode"] == "replace_partitions":
        of = lambda row: [row.get(name) for name in night["by"]]
        return [row for row in before if of(row) not in [of(other) for other in now]] + now
    return now


def compared(found, wanted, types):
    """How a table of Arrow differs from rows; columns that are not among the types have to be null."""
    missing = [name for name in types if name not in found.column_names]
    if missing:
        return f"no column {', '.join(missing)}"
    filled = [name for name in found.column_names if name not in types and found[name].null_count < len(found)]
    if filled:
        return f"values in {', '.join(filled)}"
    by_key = lambda rows: sorted(([row.get(name) for name in types] for row in rows), key=lambda row: row[0])
    seen, rows = by_key(found.select(list(types)).to_pylist()), by_key(wanted)
    if len(seen) != len(rows):
        return f"{len(seen)} rows of {len(rows)}"
    return next((f"{a!r} instead of {b!r}" for one, other in zip(seen, rows) for a, b in zip(one, other) if a != b or type(a) is not type(b)), None)


def sql_of(value):
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value) if isinstance(value, (bool, int, float)) else f"CAST('{value}' AS {'TIMESTAMPTZ' if hasattr(value, 'hour') else 'DATE'})"


def readers(night):
    """Functions by reader that return rows of the table with a column between two values, or null: all of them without."""
    kind, path, queries = night["kind"], night["path"], night["queries"]
    where = lambda of: "" if of is None else f' WHERE "{of[0]}" ' + ("IS NULL" if of[1] is None else f"BETWEEN {sql_of(of[1])} AND {sql_of(of[2])}")
    from_sql = lambda query: lambda of: db.execute(f"SELECT * FROM ({query}){where(of)}").to_arrow_table()

    def from_polars(frame):
        test = lambda name, low, high: polars.col(name).is_null() if low is None else polars.col(name).is_between(polars.lit(low), polars.lit(high))
        return lambda of: (frame() if of is None else frame().filter(test(*of))).collect().to_arrow()

    def from_iceberg(table):
        test = lambda name, low, high: IsNull(name) if low is None else And(GreaterThanOrEqual(name, text(low)), LessThanOrEqual(name, text(high)))
        text = lambda value: value.isoformat() if hasattr(value, "isoformat") else value
        return lambda of: table().scan(**({} if of is None else {"row_filter": test(*of)})).to_arrow()

    if night["place"] == "rest":
        yield "pyiceberg, catalog", from_iceberg(lambda: rest(night))
        db.execute("DETACH DATABASE IF EXISTS c")
        db.execute(f"CREATE OR REPLACE SECRET catalog (TYPE iceberg, CLIENT_ID '{KEY}', CLIENT_SECRET '{SECRET}', OAUTH2_SERVER_URI '{night['catalog']}/v1/oauth/tokens')")
        db.execute(f"ATTACH '{night['warehouse']}' AS c (TYPE iceberg, ENDPOINT '{night['catalog']}', SECRET catalog, ACCESS_DELEGATION_MODE none)")
        yield "duckdb, catalog", from_sql(f"SELECT * FROM c.{night['name']}")
    yield "duckdb, printed", from_sql(queries["duckdb"])
    # What reads the metadata of Iceberg for Polars does not know the variables of AWS for other endpoints.
    query = queries["polars"].replace('.json")', '.json", storage_options=ACCESS)') if night["place"] != "disk" else queries["polars"]
    yield "polars", from_polars(lambda: eval(query, globals()))
    if spark and night["place"] == "disk":
        condition = lambda of: where(of).replace('"', "`").replace("TIMESTAMPTZ", "TIMESTAMP")
        yield "spark", lambda of: spark.sql(f"SELECT * FROM {{t}}{condition(of)}", t=eval(queries["spark"], {"spark": spark})).toArrow()
    yield "pandas", lambda of: pa.Table.from_pandas(eval(query, globals()).collect().to_pandas(use_pyarrow_extension_array=True))
    if kind == "iceberg":
        yield "pyiceberg", from_iceberg(lambda: StaticTable.from_metadata(night["metadata"], ACCESS))
    if kind == "delta":
        yield "delta-rs", lambda of: pa.table(QueryBuilder().register("t", DeltaTable(path)).execute(f"SELECT * FROM t{where(of)}").read_all())


def rest(night):
    return RestCatalog("rest", uri=night["catalog"], warehouse=night["warehouse"], credential=f"{KEY}:{SECRET}", **ACCESS).load_table(night["name"])


def versions(night):
    """The kept versions of the table: their run, the reader, and its rows."""
    kind, path = night["kind"], night["path"]
    if kind == "plain":
        for run, query in night["kept"].items():
            yield run, "duckdb", lambda: db.execute(query).to_arrow_table()
    elif kind == "iceberg":
        table = rest(night) if night["place"] == "rest" else StaticTable.from_metadata(night["metadata"], ACCESS)
        for snapshot in table.snapshots():
            run, id = snapshot.summary.additional_properties.get("leadstream.run"), snapshot.snapshot_id
            yield run, "pyiceberg", lambda: table.scan(snapshot_id=id).to_arrow()
            if night["place"] != "rest":
                yield run, "duckdb", lambda: db.execute(f"SELECT * FROM iceberg_scan('{night['metadata']}', snapshot_from_id = {id})").to_arrow_table()
            else:
                yield run, "duckdb", lambda: db.execute(f"SELECT * FROM c.{night['name']} AT (VERSION => {id})").to_arrow_table()
            if spark and night["place"] == "disk":
                yield run, "spark", lambda: spark.read.option("snapshot-id", id).format("iceberg").load(path).toArrow()
    else:
        for commit in DeltaTable(path).history():
            version = commit["version"]
            run = (commit.get("leadstream") or {}).get("run")
            if run not in night["runs"]:
                continue
            yield run, "delta-rs", lambda: pa.table(QueryBuilder().register("t", DeltaTable(path, version=version)).execute("SELECT * FROM t").read_all())
            yield run, "polars", lambda: polars.scan_delta(path, version=version).collect().to_arrow()
            if spark and night["place"] == "disk":
                yield run, "spark", lambda: spark.read.format("delta").option("versionAsOf", version).load(path).toArrow()


def probes(rows, types):
    """Ranges around the values of each column, and null."""
    for name in types:
        values = sorted({row[name] for row in rows if row.get(name) is not None})
        yield name, None, None
        for value in values[:1] + values[len(values) // 2 :][:1] + values[-2:]:
            yield name, value, value
            if isinstance(value, str) and value:
                yield name, value[:-1], value + "\U0010ffff"
                yield name, value[:20] + "\U0010ffff", "\U0010ffff\U0010ffff"


def attempt(say, what, work):
    try:
        fault = work()
    except BaseException as failure:
        fault = f"{type(failure).__name__}: {' '.join(str(failure).split())[:300]}"
    if fault is not None:
        say.append(f"{what}: {fault}")


def filtered(rows, of):
    name, low, high = of
    return [row for row in rows if (row.get(name) is None) == (low is None) and (low is None or low <= row[name] <= high)]


def check(night, state):
    say = []
    types = night["types"]
    if night["act"] == "run":
        state["rows"] = merged(state["rows"], raw(night["service"], types), night)
        state["runs"][night["run"]] = (state["rows"], types)
    elif night["act"] == "rollback":
        state["rows"], _ = state["runs"][night["run"]]
    elif night["act"] == "optimize":
        DeltaTable(night["path"]).optimize.compact()
    elif night["act"] == "overwrite":
        table = rest(night)
        table.overwrite(table.scan().to_arrow())
    elif night["act"] == "tag":
        table = rest(night)
        table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "monthly").commit()
    rows = state["rows"]
    for reader, read in readers(night):
        attempt(say, reader, lambda: compared(read(None), rows, types))
        for probe in probes(rows, types) if night["probe"] and reader != "pandas" else []:
            attempt(say, f"{reader}, {probe}", lambda: compared(read(probe), filtered(rows, probe), types))
    for run, reader, read in versions(night):
        if run in state["runs"]:
            attempt(say, f"{reader}, run {run}", lambda: compared(read(), *state["runs"][run]))
    return say


state = {}
for line in sys.stdin:
    night = json.loads(line)
    said = check(night, state.setdefault(night["case"], {"rows": [], "runs": {}}))
    print("\n" + json.dumps({"said": said, "rows": len(state[night["case"]]["rows"])}), flush=True)
