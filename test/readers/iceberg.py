"""Reads and changes tables of Iceberg with programs that nobody here wrote.

usage: iceberg.py read METADATA SNAPSHOT...   prints the rows of snapshots by reader; main is the current one, and for it the predicates, too, that
                                              find other rows than a full scan
       iceberg.py catalog URI WAREHOUSE CREDENTIAL NAME   prints the rows of each snapshot in a REST catalog, the oldest first
       iceberg.py overwrite URI WAREHOUSE CREDENTIAL NAME   replaces all files of a table in a REST catalog by pyiceberg, with the same rows
       iceberg.py rewrite METADATA            replaces all files of the table by pyiceberg, with the same rows; prints the new metadata's path
"""

import datetime
import functools
import json
import operator
import os
import sys

import duckdb
import duckdb_extension_avro
import duckdb_extension_httpfs
import duckdb_extension_iceberg
from pyiceberg.expressions import EqualTo, GreaterThan, IsNull, LessThan
from pyiceberg.table import StaticTable

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


def in_catalog(uri, warehouse, credential, name):
    from pyiceberg.catalog.rest import RestCatalog

    variables = {"endpoint": "ENDPOINT_URL_S3", "region": "REGION", "access-key-id": "ACCESS_KEY_ID", "secret-access-key": "SECRET_ACCESS_KEY"}
    access = {f"s3.{key}": os.environ[f"AWS_{variable}"] for key, variable in variables.items()}
    return RestCatalog("rest", uri=uri, warehouse=warehouse, credential=credential, **access).load_table(name), access


def catalog(uri, warehouse, credential, name):
    table, access = in_catalog(uri, warehouse, credential, name)
    rows = [plain(table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()) for snapshot in table.snapshots()]

    endpoint, region, key, secret = access.values()
    connection = connected()
    connection.execute(
        f"CREATE SECRET s3 (TYPE s3, ENDPOINT '{endpoint.removeprefix('http://')}', URL_STYLE path, USE_SSL false, REGION '{region}', KEY_ID '{key}', SECRET '{secret}')"
    )
    client, password = credential.split(":")
    server = f"OAUTH2_SERVER_URI '{uri}/v1/oauth/tokens'"
    connection.execute(f"CREATE SECRET catalog (TYPE iceberg, CLIENT_ID '{client}', CLIENT_SECRET '{password}', {server})")
    connection.execute(f"ATTACH '{warehouse}' AS c (TYPE iceberg, ENDPOINT '{uri}', SECRET catalog, ACCESS_DELEGATION_MODE none)")
    current = plain(table.scan().to_arrow())
    assert plain(connection.execute(f"SELECT * FROM c.{name}").to_arrow_table()) == current, "DuckDB and pyiceberg read different rows"
    print(json.dumps(rows, default=str))


def overwrite(*where):
    table, _ = in_catalog(*where)
    table.overwrite(table.scan().to_arrow())


def rewrite(metadata):
    from pyiceberg.catalog.memory import InMemoryCatalog

    catalog = InMemoryCatalog("other")
    catalog.create_namespace("lake")
    table = catalog.register_table("lake.leads", metadata)
    table.overwrite(table.scan().to_arrow())
    print(table.metadata_location)


{"read": read, "catalog": catalog, "overwrite": overwrite, "rewrite": rewrite}[sys.argv[1]](*sys.argv[2:])
