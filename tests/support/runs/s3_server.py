"""An S3 of this machine, which asks for the right credentials, ended with a test."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.runs.clusters import free_port

WITHIN_S = 200.0
BUCKET = "cells"
#: What is asked before credentials are: a user, its key, what it may do, and a bucket.
_FREE_REQUESTS = 4
_MAY_ALL = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
)


@contextlib.contextmanager
def served(place: Path) -> Iterator[Mapping[str, str]]:
    """Give the variables by which AWS's tools find a bucket named ``BUCKET`` here."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    log = place / "s3.log"
    with log.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": str(_FREE_REQUESTS)},
        )  # fmt: skip
    try:
        deadline_s = time.monotonic() + WITHIN_S
        while "Running on" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        yield _credentials(address)
    finally:
        process.terminate()
        process.wait(30)


def _credentials(address: str) -> dict[str, str]:
    import boto3  # when needed: it takes a second to load

    given = {
        "endpoint_url": address, "region_name": "us-east-1", "aws_access_key_id": "first",
        "aws_secret_access_key": "first",
    }  # fmt: skip
    iam = boto3.client("iam", **given)
    iam.create_user(UserName="campaign")
    key = iam.create_access_key(UserName="campaign")["AccessKey"]
    iam.put_user_policy(UserName="campaign", PolicyName="all", PolicyDocument=_MAY_ALL)
    boto3.client("s3", **given).create_bucket(Bucket=BUCKET)
    return {
        "AWS_ENDPOINT_URL": address, "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
    }  # fmt: skip
