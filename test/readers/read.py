"""Reads tables with one reader, by every way that it has, and prints a JSON line for each.

usage: read.py READER TABLES    TABLES is a file with a JSON list of {name, link, folder, rows, partition}
"""

import glob
import json
import os
import shutil
import sys
import tempfile

import pyarrow as pa

COLUMNS = ["id", "n", "state"]


def files_of(folder):
    return sorted(glob.glob(f"{folder}/**/*.parquet", recursive=True))


def pyarrow(path, table, glob_pattern):
    import pyarrow.dataset as ds

    source = files_of(path) if glob_pattern else path
    return ds.dataset(source, format="parquet", partitioning="hive", partition_base_dir=path if glob_pattern else None).to_table()


def pandas(path, table, glob_pattern):
    import pandas as pd

    if glob_pattern:
        return None
    frame = pd.read_parquet(path, dtype_backend="pyarrow")
    # A partition column is a category, which Arrow does not take back with a null in it.
    frame["state"] = frame["state"].astype(object)
    return pa.Table.from_pandas(frame, preserve_index=False)


def fastparquet(path, table, glob_pattern):
    from fastparquet import ParquetFile

    file = ParquetFile(files_of(path), root=path) if glob_pattern else ParquetFile(path)
    return pa.Table.from_pandas(file.to_pandas(), preserve_index=False)


def polars(path, table, glob_pattern):
    import polars as pl

    return pl.scan_parquet(glob_pattern or path, hive_partitioning=True, missing_columns="insert").collect().to_arrow()


def daft(path, table, glob_pattern):
    import daft as reader

    return reader.read_parquet(glob_pattern or path, hive_partitioning=True).to_arrow()


def duckdb(path, table, glob_pattern):
    import duckdb as reader

    if not glob_pattern:
        return None
    return reader.sql(f"SELECT * FROM read_parquet('{glob_pattern}', hive_partitioning = true, union_by_name = true)").to_arrow_table()


def datafusion(path, table, glob_pattern):
    from datafusion import SessionContext

    if glob_pattern:
        return None
    partitions = [("state", pa.string())] if table["partition"] and table["rows"] else []
    context = SessionContext()
    context.register_parquet("t", path, table_partition_cols=partitions)
    return context.sql("SELECT * FROM t").to_arrow_table()


def spark(path, table, glob_pattern):
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    if not glob_pattern:
        return session.read.parquet(path).toArrow()
    depth = "*/*.parquet" if table["partition"] and table["rows"] else "*.parquet"
    return session.read.option("basePath", path).parquet(f"{path}/{depth}").toArrow()


def deltalake(path, table, glob_pattern):
    """Makes a Delta table of a copy, in its place."""
    from deltalake import DeltaTable, Field, Schema, convert_to_deltalake
    from deltalake.schema import PrimitiveType

    if glob_pattern:
        return None
    with tempfile.TemporaryDirectory() as base:
        copy = shutil.copytree(path, f"{base}/t")
        by_state = table["partition"] and table["rows"]
        more = {"partition_by": Schema([Field("state", PrimitiveType("string"))]), "partition_strategy": "hive"} if by_state else {}
        convert_to_deltalake(copy, **more)
        return DeltaTable(copy).to_pyarrow_table()


def pyiceberg(path, table, glob_pattern):
    """Adds the files to a table that Iceberg made; what only folders hold is not in them."""
    from pyiceberg.catalog.sql import SqlCatalog
    import pyarrow.parquet as pq

    files = files_of(path)
    schema = pa.unify_schemas([pq.read_schema(file).remove_metadata() for file in files])
    with tempfile.TemporaryDirectory() as base:
        catalog = SqlCatalog("c", uri="sqlite://", warehouse=f"file://{base}")
        catalog.create_namespace("n")
        added = catalog.create_table("n.t", schema)
        added.add_files(files)
        return added.scan().to_arrow()


def fault(found, table, reader):
    """What differs from what was written; None when nothing does."""
    wanted = table["rows"]
    in_files = reader == "pyiceberg" and table["partition"] and wanted
    columns = [name for name in COLUMNS if not (in_files and name == "state")] + (["late"] if "late" in table["name"] else [])
    missing = [name for name in columns if name not in found.column_names]
    if missing:
        return f"no column {', '.join(missing)}"
    for name, check in (("n", pa.types.is_integer), ("ok", pa.types.is_boolean), ("at", pa.types.is_timestamp)):
        if reader not in ("fastparquet", "pandas") and not check(found.schema.field(name).type):
            return f"{name} is {found.schema.field(name).type}"
    seen = sorted(found.select(columns).to_pylist(), key=lambda row: row["id"])
    rows = [{name: row.get(name) for name in columns} for row in wanted]
    text = lambda rows: [[None if value is None or value != value else str(value) for value in row.values()] for row in rows]
    if text(seen) == text(rows):
        return None
    return f"{len(seen)} rows of {len(rows)}" if len(seen) != len(rows) else f"other values: {text(seen)[:3]}"


def main():
    reader, tables = sys.argv[1], json.load(open(sys.argv[2]))
    for table in tables:
        ways = {"link": (table["link"], None), "folder": (table["folder"], None), "glob": (table["link"], f"{table['link']}/**/*.parquet")}
        for way, (path, pattern) in ways.items():
            try:
                found = globals()[reader](path, table, pattern)
                result = "-" if found is None else (fault(found, table, reader) or "ok")
            except BaseException as failure:
                result = f"{type(failure).__name__}: {' '.join(str(failure).split())[:120]}"
            print(json.dumps({"table": table["name"], "way": way, "result": result}), flush=True)


main()
os._exit(0)
