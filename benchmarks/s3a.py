"""A comparison of Spark's own S3 reader (s3a) with boto3 in `mapInArrow`, for the same objects of the embedded AWS.

    mvn dependency:copy -Dartifact=org.apache.hadoop:hadoop-aws:3.3.4 -DoutputDirectory=jars
    mvn dependency:copy -Dartifact=com.amazonaws:aws-java-sdk-bundle:1.12.262 -DoutputDirectory=jars
    python -m benchmarks.s3a jars [MESSAGES]

Not a part of `make bench`: the jars have 280 MB.
"""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pyarrow as pa
from benchmarks.harness import times
from benchmarks.mail import Plan, write
from benchmarks.spark import session
from pyspark.sql import DataFrame, SparkSession

from postroom.core.settings import DeploymentSettings
from postroom.jobs.bucket import BucketObject
from postroom.jobs.prefetch import prefetch
from postroom.jobs.reading import raw_lines
from postroom.jobs.settings import CompactSettings
from postroom.jobs.tally import Tally
from postroom.jobs.tasks import THREADS
from postroom.local.account import LocalAccount
from postroom.local.emulator import Emulator
from postroom.runtime.jobs.parts import JobParts

_ACCOUNT: Final = "100000000009"
_BUCKET: Final = "bucket-s3a"
_ROUNDS: Final = 3
_AHEAD_BYTES: Final = 32_000_000


def main(jars: Path, messages: int) -> None:
    """Print a ratio for each round; in the first round, Spark has just started."""
    plan = Plan(messages=messages, seed=1, mailboxes=max(10, messages // 100), ends_at_ms=1_795_000_000_000)
    with Emulator() as emulator:
        clients = emulator.clients(_ACCOUNT)
        clients("s3").create_bucket(Bucket=_BUCKET)
        write(plan, clients("s3"), _BUCKET, clients("dynamodb"), "", rows=False)
        submit = f"--jars {','.join(map(str, jars.glob('*.jar')))} --driver-memory 2g"
        with session(clients.at, submit=submit, settings=_reads_s3(clients.at)) as spark:
            for _ in range(_ROUNDS):
                theirs = _seconds(spark.read.text(f"s3a://{_BUCKET}/seg/", recursiveFileLookup=True))
                ours = _seconds(_ours(spark, _job(clients.endpoint)))
                print(f"s3a by boto3: {times(theirs / ours)}")


def _job(endpoint: str) -> JobParts:
    return JobParts(
        CompactSettings(
            job_name="s3a", bucket=_BUCKET, post_table="", directory_table="", endpoint_url=endpoint,
            retain_seconds=DeploymentSettings().retain_seconds,
        )
    )  # fmt: skip


def _ours(spark: SparkSession, job: JobParts) -> DataFrame:
    bucket = job.bucket(Tally())
    shares = [share for hour in bucket.hours("seg/") for share in bucket.shares(hour)]

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = job.bucket(Tally())

        def whole(found: BucketObject) -> bytes:
            return b"".join(own.read(found.name))

        with ThreadPoolExecutor(THREADS) as pool:
            numbers = (number for batch in batches for number in batch.column(0).to_pylist())
            found = (each for number in numbers for each in own.objects(shares[number]))
            for data in prefetch(pool, whole, found, cost=lambda each: each.size, most=_AHEAD_BYTES):
                yield pa.RecordBatch.from_pydict({"value": [line for _, line in raw_lines([data])]})

    tasks = min(len(shares), 4 * spark.sparkContext.defaultParallelism)
    return spark.range(0, len(shares), 1, tasks).mapInArrow(read, "value binary")


def _seconds(frame: DataFrame) -> float:
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def _reads_s3(at: LocalAccount) -> dict[str, str]:
    """The settings with which Spark reads the bucket itself."""
    own = {
        "endpoint": at.endpoint_url, "path.style.access": "true", "connection.ssl.enabled": "false",
        "access.key": at.digits, "secret.key": at.secret, "change.detection.mode": "none",
    }  # fmt: skip
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in own.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
