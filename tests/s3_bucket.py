"""A bucket of a server on the loopback address, started and ended here."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URL of an empty bucket of a server on the loopback address; the environment leads there."""
    pytest.importorskip("obstore")
    boto3 = pytest.importorskip("boto3")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_ALLOW_HTTP", "true")
        try:
            await_port(port)
            boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="shards")
            yield "s3://shards"
        finally:
            server.kill()
            server.wait()


def await_port(port: int) -> None:
    """Wait until somebody listens."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
