"""Shares a run of leadstream among the workers of Spark: plan and commit on the driver, one task for each shard.

    spark-submit --conf spark.speculation=false leadstream_spark.py /shared/leads.yaml \
      --work /shared/work --shards 16 --parallel 4 --env /etc/leadstream/leadstream.env

Other options, like --env, go to leadstream. Its command, the file and what --env names have the same path on all machines.
Only --parallel shards run at a time, however many cores there are: more would exceed the rate that the file allows, as speculation does.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from multiprocessing.pool import ThreadPool

from pyspark.sql import SparkSession

# These need a person. What else fails (69: service, 75: try again, signals) is tried again.
FINAL = {1, 2, 65, 77, 78}


def leadstream(*words):
    """Runs a command next to the pipeline file. Returns its exit code, what it printed, and its messages."""
    done = subprocess.run(["leadstream", *words, *others], cwd=os.path.dirname(file), capture_output=True, text=True)
    return done.returncode, done.stdout.strip(), done.stderr


def shard(index):
    """Runs on a worker. Spark repeats what fails, up to spark.task.maxFailures times."""
    with tempfile.TemporaryDirectory() as state:
        code, _, log = leadstream("shard", file, plan, str(index), "--state-dir", state)
    if code != 0 and code not in FINAL:
        raise RuntimeError(f"leadstream ended with {code}\n{log}")
    return code, log


def on_driver(*words):
    for _ in range(3):
        code, printed, log = leadstream(*words)
        sys.stderr.write(log)
        if code == 0 or code in FINAL:
            break
    return printed if code == 0 else sys.exit(code)


parser = argparse.ArgumentParser()
parser.add_argument("file", type=os.path.abspath)
for name in "--work", "--shards", "--parallel":
    parser.add_argument(name, required=True)
options, others = parser.parse_known_args()
file = options.file
spark = SparkSession.builder.appName("leadstream").getOrCreate().sparkContext
plan = on_driver("plan", file, "--work", options.work, "--shards", options.shards, "--parallel", options.parallel)
with ThreadPool(int(options.parallel)) as pool:
    for code, log in pool.imap_unordered(lambda index: spark.parallelize([index], 1).map(shard).first(), range(int(options.shards))):
        sys.stderr.write(log)
        if code != 0:
            sys.exit(code)
on_driver("commit", file, plan)
