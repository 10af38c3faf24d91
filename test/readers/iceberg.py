"""Reads and changes tables of Iceberg with programs that nobody here wrote.

usage, by lines of stdin (see served.py):
       iceberg.py read METADATA SNAPSHOT...   prints the rows of snapshots by reader; main is the current one, and for it the predicates, too, that
                                              find other rows than a full scan
       iceberg.py catalog URI WAREHOUSE CREDENTIAL NAME   prints the rows of each snapshot in a REST catalog, the oldest first
       iceberg.py overwrite URI WAREHOUSE CREDENTIAL NAME   replaces all files of a table in a REST catalog by pyiceberg, with the same rows
       iceberg.py others URI WAREHOUSE CREDENTIAL TABLES   changes tables by pyiceberg, and prints the rows of all snapshots, and what else they have;
                                              TABLES is JSON: [[name, change], ...]
       iceberg.py rewrite METADATA            replaces all files of the table by pyiceberg, with the same rows; prints the new metadata's path
       iceberg.py example METADATA CODE       prints the rows that an example of a page finds in the table
"""

import datetime
import functools
import json
import operator
import os

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
from pyiceberg.expressions import EqualTo, GreaterThan, IsNull, LessThan
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField, StringType

from served import serve
from values import text

OPERATORS = {
    "=": (operator.eq, EqualTo),
    "<": (operator.lt, LessThan),
    ">": (operator.gt, GreaterThan),
}


def literal(value):
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMPTZ '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def pyiceberg(metadata, snapshot):
    table = StaticTable.from_metadata(metadata)

    def rows(where):
        filters = {}
        if where is not None:
            column, sign, value = where
            value = value.isoformat() if isinstance(value, datetime.date) else value
            filters = {"row_filter": IsNull(column) if value is None else OPERATORS[sign][1](column, value)}
        return table.scan(snapshot_id=snapshot, **filters).to_arrow()

    return rows


@functools.cache
def connected():
    """One for all snapshots, because to check the extensions takes long."""
    connection = duckdb.connect()
    for name, package in (("httpfs", duckdb_extension_httpfs), ("avro", duckdb_extension_avro), ("iceberg", duckdb_extension_iceberg)):
        connection.execute(f"LOAD '{package.__path__[0]}/extensions/v{duckdb.__version__}/{name}.duckdb_extension'")
    return connection


def duck(metadata, snapshot):
    connection = connected()
    of = "" if snapshot is None else f", snapshot_from_id={snapshot}"

    def rows(where):
        condition = ""
        if where is not None:
            column, sign, value = where
            condition = f' WHERE "{column}" ' + ("IS NULL" if value is None else f"{sign} {literal(value)}")
        return connection.execute(f"SELECT * FROM iceberg_scan('{metadata}'{of}){condition}").to_arrow_table()

    return rows


def plain(table):
    return sorted(table.to_pylist(), key=lambda row: [str(value) for value in row.values()])


def near(value):
    """A value, and some that are a little smaller or larger."""
    if isinstance(value, bool) or value is None:
        return [value]
    if isinstance(value, datetime.datetime):
        return [value, value - datetime.timedelta(milliseconds=1)]
    if isinstance(value, datetime.date):
        return [value]
    if isinstance(value, str):
        return [value, value[:-1], value[:15] + "\U0010ffff"]
    return [value, value - 1] if abs(value) < 2**53 else [value]


def differences(rows):
    """The predicates for which files were skipped that have rows."""
    full = plain(rows(None))
    for column in full[0] if full else []:
        for value in {found for row in full for found in near(row[column])}:
            for sign, (holds, _) in OPERATORS.items() if value is not None else [("is", (operator.is_, None))]:
                wanted = [row for row in full if (row[column] is None) == (value is None) and (value is None or holds(row[column], value))]
                found = plain(rows((column, sign, value)))
                if found != wanted:
                    yield f"{column} {sign} {value!r}: {len(found)} rows of {len(wanted)}"


def read(metadata, *snapshots):
    result = {}
    for snapshot in snapshots:
        for name, reader in (("pyiceberg", pyiceberg), ("duckdb", duck)):
            rows = reader(metadata, None if snapshot == "main" else int(snapshot))
            full = [{column: text(value) for column, value in row.items()} for row in plain(rows(None))]
            result[f"{name} {snapshot}"] = {"rows": full, "differences": list(differences(rows)) if snapshot == "main" else []}
    print(json.dumps(result))


def client(uri, warehouse, credential):
    from pyiceberg.catalog.rest import RestCatalog

    variables = {"endpoint": "ENDPOINT_URL_S3", "region": "REGION", "access-key-id": "ACCESS_KEY_ID", "secret-access-key": "SECRET_ACCESS_KEY"}
    access = {f"s3.{key}": os.environ[f"AWS_{variable}"] for key, variable in variables.items()}
    return RestCatalog("rest", uri=uri, warehouse=warehouse, credential=credential, **access), access


def in_catalog(uri, warehouse, credential, name):
    rest, access = client(uri, warehouse, credential)
    return rest.load_table(name), access


def attached(uri, warehouse, credential, access):
    endpoint, region, key, secret = access.values()
    connection = connected()
    connection.execute(
        f"CREATE OR REPLACE SECRET s3 (TYPE s3, ENDPOINT '{endpoint.removeprefix('http://')}', URL_STYLE path, USE_SSL false, REGION '{region}', KEY_ID '{key}', SECRET '{secret}')"
    )
    client, password = credential.split(":")
    server = f"OAUTH2_SERVER_URI '{uri}/v1/oauth/tokens'"
    connection.execute(f"CREATE OR REPLACE SECRET catalog (TYPE iceberg, CLIENT_ID '{client}', CLIENT_SECRET '{password}', {server})")
    connection.execute("DETACH DATABASE IF EXISTS c")
    connection.execute(f"ATTACH '{warehouse}' AS c (TYPE iceberg, ENDPOINT '{uri}', SECRET catalog, ACCESS_DELEGATION_MODE none)")
    return connection


def catalog(uri, warehouse, credential, name):
    table, access = in_catalog(uri, warehouse, credential, name)
    rows = [plain(table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()) for snapshot in table.snapshots()]
    connection = attached(uri, warehouse, credential, access)
    current = plain(table.scan().to_arrow())
    assert plain(connection.execute(f"SELECT * FROM c.{name}").to_arrow_table()) == current, "DuckDB and pyiceberg read different rows"
    print(json.dumps(rows, default=str))


def overwrite(*where):
    table, _ = in_catalog(*where)
    table.overwrite(table.scan().to_arrow())


def create(rest, name):
    """As others do it: with a column that we do not have, a key, required columns, a partition, an order, and properties."""
    key, day = NestedField(1, "id", StringType(), required=True), NestedField(2, "day", DateType(), doc="theirs")
    fields = [NestedField(5, "extra", StringType()), key, day, NestedField(7, "n", LongType(), required=True)]
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))
    order = SortOrder(SortField(2, IdentityTransform()))
    rest.create_namespace_if_not_exists(name.split(".")[0])
    rest.create_table(name, Schema(*fields, identifier_field_ids=[1]), partition_spec=spec, sort_order=order, properties={"owner": "them"})


def change(table, what):
    if what == "":
        return
    rows, schema, refs = table.scan().to_arrow(), table.update_schema(allow_incompatible_changes=True), table.manage_snapshots()
    current = table.metadata.current_snapshot_id
    if what in ("rename", "key"):
        schema.rename_column({"rename": "n", "key": "id"}[what], "renamed").commit()
    elif what in ("drop", "retype"):
        schema.delete_column("n").commit()
        if what == "retype":
            table.update_schema().add_column("n", StringType()).commit()
    elif what == "add":
        schema.add_column("late", StringType()).commit()
        table.overwrite(rows.append_column("late", [["x"] * len(rows)]))
    elif what == "reorder":
        schema.move_first("n").commit()
    elif what == "identify":
        schema.update_column("id", required=True)
        schema.set_identifier_fields("id")
        schema.commit()
    elif what.startswith("spec"):
        table.update_spec().add_field("n", IdentityTransform(), "n").commit()
        if what == "spec":
            table.overwrite(rows)
    elif what == "sort order":
        table.update_sort_order().asc("n", IdentityTransform()).commit()
    elif what == "refs":
        refs.create_tag(current, "audit", 10**12).create_branch(current, "main", 10**12, 10**11, 3).commit()
    elif what == "properties":
        table.transaction().set_properties(owner="them").commit_transaction()
        schema.update_column("n", doc="theirs").commit()
    elif what == "rows deleted":
        table.delete("id = 'a'")
    elif what == "rows appended":
        table.append(rows.slice(0, 1).set_column(0, rows.field(0), [["z"]]))
    elif what == "compacted":
        table.overwrite(rows)
    elif what == "compacted under other names":
        swap(table)
        table.overwrite(table.scan().to_arrow())
        swap(table)
    elif what.startswith("expired"):
        if what == "expired, without a column":
            schema.delete_column("n").commit()
        table.overwrite(table.scan().to_arrow())
        ids = [each.snapshot_id for each in table.snapshots() if each.snapshot_id != table.metadata.current_snapshot_id]
        table.maintenance.expire_snapshots().by_ids(ids).commit()
        if what == "expired, as an earlier release left it":
            names = [name for name in table.properties if name.startswith("leadstream.") and name != "leadstream.writer"]
            table.transaction().remove_properties(*names).commit_transaction()


def swap(table):
    for one, other in (("id", "other"), ("n", "id"), ("other", "n")):
        table.update_schema().rename_column(one, other).commit()


def state(table, connection):
    schema, rows = table.schema(), {}
    for snapshot in table.snapshots():
        rows[snapshot.summary["leadstream.run"] or "others"] = plain(table.scan(snapshot_id=snapshot.snapshot_id).to_arrow())
    if rows:
        rows["current"] = plain(table.scan().to_arrow())
        assert plain(connection.execute(f"SELECT * FROM c.{'.'.join(table.name())}").to_arrow_table()) == rows["current"]
    return {
        "rows": rows,
        "columns": [str(field) for field in schema.fields],
        "identifiers": sorted(schema.identifier_field_names()),
        "partitions": [f"{field.transform} {field.name}" for field in table.spec().fields],
        "order": [str(field) for field in table.sort_order().fields],
        "owner": table.properties.get("owner"),
        "refs": {name: {**ref.model_dump(by_alias=True), "snapshot-id": None} for name, ref in table.refs().items()},
    }


def others(uri, warehouse, credential, tables):
    rest, access = client(uri, warehouse, credential)
    for name, what in json.loads(tables):
        create(rest, name) if what == "create" else change(rest.load_table(name), what)
    connection = attached(uri, warehouse, credential, access)
    print(json.dumps([state(rest.load_table(name), connection) for name, _ in json.loads(tables)], default=str))


def rewrite(metadata):
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("other")
    catalog.create_namespace("lake")
    table = catalog.register_table("lake.leads", metadata)
    table.overwrite(table.scan().to_arrow())
    print(table.metadata_location)


def example(metadata, code):
    names = {"table": StaticTable.from_metadata(metadata)}
    exec(code, names)
    print(json.dumps(names["rows"].to_pylist(), default=str))


COMMANDS = {"read": read, "catalog": catalog, "overwrite": overwrite, "others": others, "rewrite": rewrite, "example": example}

serve(lambda command, *args: COMMANDS[command](*args))
