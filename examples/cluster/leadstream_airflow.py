"""Shares a run of leadstream among the workers of Airflow 3: a plan, one task for each shard, and a commit.

Set the values below and put this file into the folder of DAGs. The command leadstream, FILE and what OPTIONS name have the same path on
all workers. FILE's tables and WORK are on a store, or in a folder that all workers share.
"""

import os
import subprocess
import tempfile
from datetime import datetime, timedelta

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

FILE = "/srv/leadstream/leads.yaml"
WORK = "/srv/leadstream/work"
OPTIONS = ["--env", "/etc/leadstream/leadstream.env"]
SHARDS = 8
PARALLEL = 4  # Shards at a time: more would exceed the rate that the file allows.

# These need a person. What else fails (69: service, 75: try again, signals) is tried again.
FINAL = {1, 2, 65, 77, 78}


def leadstream(*words: str) -> str:
    """Runs a command next to the pipeline file. Its messages go to the log of the task; what it printed is returned."""
    done = subprocess.run(["leadstream", *words, *OPTIONS], cwd=os.path.dirname(FILE), stdout=subprocess.PIPE, text=True)
    if done.returncode in FINAL:
        raise AirflowFailException(f"leadstream {words[0]} ended with {done.returncode}")
    done.check_returncode()
    return done.stdout.strip()


@dag(
    schedule="30 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 5, "retry_delay": timedelta(minutes=2)},
)
def leadstream_cluster():
    @task
    def plan() -> str:
        return leadstream("plan", FILE, "--work", WORK, "--shards", str(SHARDS), "--parallel", str(PARALLEL))

    @task(max_active_tis_per_dag=PARALLEL)
    def shard(index: int, folder: str) -> None:
        with tempfile.TemporaryDirectory() as state:
            leadstream("shard", FILE, folder, str(index), "--state-dir", state)

    @task
    def commit(folder: str) -> None:
        leadstream("commit", FILE, folder)

    folder = plan()
    shard.partial(folder=folder).expand(index=list(range(SHARDS))) >> commit(folder)


leadstream_cluster()
