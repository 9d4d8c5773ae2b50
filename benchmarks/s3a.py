"""Spark's own reader over s3a by gets of boto3 within `mapInArrow`: the same objects of the embedded AWS, to nowhere.

    mvn dependency:copy -Dartifact=org.apache.hadoop:hadoop-aws:3.3.4 -DoutputDirectory=jars
    mvn dependency:copy -Dartifact=com.amazonaws:aws-java-sdk-bundle:1.12.262 -DoutputDirectory=jars
    python -m benchmarks.s3a jars [MESSAGES]

Not a part of `make bench`: the jars have 280 MB.
"""

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pyarrow as pa
from benchmarks.harness import times
from benchmarks.mail import Plan, segments
from pyspark.sql import DataFrame, SparkSession

from postroom.jobs.ahead import ahead
from postroom.jobs.bucket import Found
from postroom.jobs.reach import THREADS, Reach
from postroom.jobs.reading import raw_lines
from postroom.jobs.tally import Tally
from postroom.local.clients import REGION
from postroom.local.emulator import Emulator
from postroom.local.spark import environment_of, spark_environment

_ACCOUNT: Final = "100000000009"
_BUCKET: Final = "bucket-s3a"
_ROUNDS: Final = 3
_AHEAD_BYTES: Final = 32_000_000
_ROOT: Final = Path(__file__).parent.parent


def main(jars: Path, messages: int) -> None:
    """Print a ratio for each round: the first is of a Spark that has just started."""
    plan = Plan(messages=messages, seed=1, mailboxes=max(10, messages // 100), ends_at_ms=1_795_000_000_000)
    with Emulator() as emulator, ThreadPoolExecutor(THREADS) as pool:
        s3 = emulator.clients(_ACCOUNT)("s3")
        s3.create_bucket(Bucket=_BUCKET)
        list(
            pool.map(
                lambda each: s3.put_object(Bucket=_BUCKET, Key=each.name, Body=each.data), segments(plan, rows=False)
            )
        )
        endpoint = f"http://127.0.0.1:{emulator.port}"
        spark = _spark(jars, endpoint)
        for _ in range(_ROUNDS):
            theirs = _seconds(spark.read.text(f"s3a://{_BUCKET}/seg/", recursiveFileLookup=True))
            ours = _seconds(_ours(spark, Reach(_BUCKET, "", "", endpoint, 1, 1)))
            print(f"s3a by boto3: {times(theirs / ours)}")
        spark.stop()


def _ours(spark: SparkSession, reach: Reach) -> DataFrame:
    bucket = reach.bucket_of(Tally())
    shares = [share for hour in bucket.hours("seg/") for share in bucket.shares(hour)]

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = reach.bucket_of(Tally())

        def whole(found: Found) -> bytes:
            return b"".join(own.read(found.name))

        with ThreadPoolExecutor(THREADS) as pool:
            numbers = (number for batch in batches for number in batch.column(0).to_pylist())
            found = (each for number in numbers for each in own.objects(shares[number]))
            for data in ahead(pool, whole, found, cost=lambda each: each.size, most=_AHEAD_BYTES):
                yield pa.RecordBatch.from_pydict({"value": [line for _, line in raw_lines([data])]})

    tasks = min(len(shares), 4 * spark.sparkContext.defaultParallelism)
    return spark.range(0, len(shares), 1, tasks).mapInArrow(read, "value binary")


def _seconds(frame: DataFrame) -> float:
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def _spark(jars: Path, endpoint: str) -> SparkSession:
    os.environ |= (
        environment_of(_ACCOUNT, REGION)
        | spark_environment()
        | {
            "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "layers" / "postroom")]),
            "PYSPARK_SUBMIT_ARGS": f"--jars {','.join(map(str, jars.glob('*.jar')))} --driver-memory 2g "
            "--conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false pyspark-shell",
        }
    )
    builder = SparkSession.builder.master("local[*]")
    for name, value in {
        "endpoint": endpoint, "path.style.access": "true", "connection.ssl.enabled": "false",
        "access.key": _ACCOUNT, "secret.key": "local", "change.detection.mode": "none",
    }.items():  # fmt: skip
        builder = builder.config(f"spark.hadoop.fs.s3a.{name}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
