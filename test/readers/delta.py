"""Reads and changes Delta tables with programs that nobody here wrote.

usage, by lines of stdin (see served.py):
       delta.py read TABLE VERSION...   prints the rows by version and reader
       delta.py predicates TABLE        prints by reader the predicates that found other rows than a full scan
       delta.py rows TABLE...           prints the rows of the current versions by table and reader; or why it has none
       delta.py polars EXPRESSION       prints the ids of the rows that an expression of Polars has
       delta.py VERB TABLE...           changes tables by delta-rs, see CHANGES
"""

import datetime
import functools
import json
import operator

import duckdb
import duckdb_extension_delta
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, Field, QueryBuilder, TableFeatures, write_deltalake
from deltalake.schema import PrimitiveType

from served import serve
from values import text

OPERATORS = {"=": operator.eq, "<": operator.lt, ">=": operator.ge}
EXTENSION = f"{duckdb_extension_delta.__path__[0]}/extensions/v{duckdb.__version__}/delta.duckdb_extension"


def condition(where):
    if where is None:
        return ""
    column, sign, value = where
    if value is None:
        return f' WHERE "{column}" IS NULL'
    if isinstance(value, datetime.datetime):
        text = f"TIMESTAMPTZ '{value.isoformat(' ')}'"
    elif isinstance(value, datetime.date):
        text = f"DATE '{value}'"
    else:
        text = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
    return f' WHERE "{column}" {sign} {text}'


def delta_rs(table, version):
    query = QueryBuilder().register("t", DeltaTable(table, version=version))
    return lambda where: pa.table(query.execute(f"SELECT * FROM t{condition(where)}").read_all())


def arrow(table, version):
    """What delta-rs gives pyarrow: files with their bounds."""
    import pyarrow.dataset as ds

    files = DeltaTable(table, version=version).to_pyarrow_dataset()

    def rows(where):
        if where is None:
            return files.to_table()
        column, sign, value = where
        return files.to_table(filter=ds.field(column).is_null() if value is None else OPERATORS[sign](ds.field(column), value))

    return rows


def polars(table, version):
    files = pl.scan_delta(table, version=version)

    def rows(where):
        if where is None:
            return files.collect().to_arrow()
        column, sign, value = where
        test = pl.col(column).is_null() if value is None else OPERATORS[sign](pl.col(column), pl.lit(value))
        return files.filter(test).collect().to_arrow()

    return rows


@functools.cache
def connected():
    """One for all versions, because to check the extension takes long."""
    connection = duckdb.connect()
    connection.execute(f"LOAD '{EXTENSION}'")
    return connection


def duck(table, version):
    connected().execute(f"DETACH DATABASE IF EXISTS t{version}")
    connected().execute(f"ATTACH '{table}' AS t{version} (TYPE delta, VERSION {version})")
    return lambda where: connected().execute(f"SELECT * FROM t{version}{condition(where)}").to_arrow_table()


READERS = {"delta-rs": delta_rs, "arrow": arrow, "polars": polars, "duckdb": duck}


def plain(table):
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def near(value):
    """A value, and some that are a little smaller or larger."""
    if isinstance(value, bool) or value is None:
        return [value]
    if isinstance(value, datetime.datetime):
        return [value + datetime.timedelta(microseconds=step) for step in (-1, 0, 1)]
    if isinstance(value, datetime.date):
        return [value + datetime.timedelta(days=step) for step in (-1, 0, 1)]
    if isinstance(value, str):
        return [value, value + "\x01", value[:-1], value[:60] + "\U0010ffff"]
    return [value, value - 1, value + 1] if abs(value) < 2**53 else [value]


def differences(rows):
    """The predicates for which files were skipped that have rows."""
    full = plain(rows(None))
    for column in full[0].keys() - {"id", "state"}:
        values = {found for row in full for found in near(row[column])}
        for value in values:
            for sign, holds in OPERATORS.items() if value is not None else [("is", operator.is_)]:
                wanted = [row for row in full if (row[column] is None) == (value is None) and (value is None or holds(row[column], value))]
                found = plain(rows((column, sign, value)))
                if found != wanted:
                    yield f"{column} {sign} {value!r}: {len(found)} rows of {len(wanted)}"


def read(table, *versions):
    for version in versions:
        for reader, opened in READERS.items():
            rows = plain(opened(table, int(version))(None))
            yield f"{version} {reader}", [{column: text(value) for column, value in row.items()} for row in rows]


def predicates(table):
    for reader, opened in READERS.items():
        yield reader, list(differences(opened(table, 0)))


def rows(*tables):
    for table in tables:
        for reader in ("delta-rs", "duckdb"):
            try:
                if reader == "duckdb":
                    found = connected().execute(f"SELECT * FROM delta_scan('{table}')").to_arrow_table()
                else:
                    found = delta_rs(table, None)(None)
                yield f"{table} {reader}", [{column: text(value) for column, value in row.items()} for row in plain(found)]
            except Exception as failure:
                yield f"{table} {reader}", str(failure)


def properties(**values):
    return lambda table: table.alter.set_table_properties({f"delta.{name}": value for name, value in values.items()})


def described(table):
    table.alter.set_table_name("nights")
    table.alter.set_table_description("All nights.")
    properties(logRetentionDuration="interval 60 days")(table)


CHANGES = {
    "properties": described,
    "appendOnly": properties(appendOnly="true"),
    "enableExpiredLogCleanup": properties(enableExpiredLogCleanup="true"),
    "cleanup off": properties(enableExpiredLogCleanup="false"),
    "enableChangeDataFeed": properties(enableChangeDataFeed="true"),
    "comment": lambda table: table.alter.set_column_metadata("day", {"comment": "The night."}),
    "column": lambda table: table.alter.add_columns([Field("late", PrimitiveType("long"))]),
    "required column": lambda table: table.alter.add_columns([Field("late", PrimitiveType("long"), nullable=False)]),
    "constraint": lambda table: table.alter.add_constraint({"positive": "n >= 0"}),
    "feature": lambda table: table.alter.add_feature(TableFeatures.DeletionVectors, allow_protocol_versions_increase=True),
    "delete": lambda table: table.delete("id = 'a'"),
    "append": lambda table: write_deltalake(table, table.to_pyarrow_table().slice(0, 1), mode="append"),
    "restore": lambda table: table.restore(1),
    "optimize": lambda table: table.optimize.compact(),
    "vacuum": lambda table: table.vacuum(dry_run=False),
}


def main(verb, *args):
    printed = {"read": read, "predicates": predicates, "rows": rows}.get(verb)
    if printed:
        print(json.dumps(dict(printed(*args))))
    elif verb == "polars":
        print(*eval(args[0], {"polars": pl}).collect()["id"], end="")
    else:
        for table in args:
            CHANGES[verb](DeltaTable(table))


serve(main)
