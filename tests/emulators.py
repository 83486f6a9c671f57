"""The promises of the store, kept in a bucket of a server that stands for s3 or gcs. Call: python tests/emulators.py s3|gs (packages of envs/emulators.txt)."""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from rubrics_gym.store import bucket
from rubrics_gym.store.attempts import AttemptStore
from rubrics_gym.store.bucket import Bucket
from rubrics_gym.store.ledger import State, accounts, read_requests
from rubrics_gym.store.requests import Ledger
from rubrics_gym.store.storage import LeaseHeld

REQUEST = {"purpose": "mine", "model": "model"}


def serve(kind: str) -> str:
    """Start the server and give the address of an empty store in it."""
    logging.disable(logging.ERROR)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if kind == "s3":
        from moto.server import ThreadedMotoServer

        ThreadedMotoServer("127.0.0.1", port, verbose=False).start()
        os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
        import s3fs

        s3fs.S3FileSystem().mkdir("rubrics")
    else:
        from gcp_storage_emulator.server import create_server

        create_server("127.0.0.1", port, in_memory=True, default_bucket="rubrics").start()
        os.environ["STORAGE_EMULATOR_HOST"] = f"http://127.0.0.1:{port}"
    return f"{kind}://rubrics/store"


def keep_promises(url: str) -> None:
    storage = Bucket(url)
    assert storage.create("x/1", b"first") and storage.read("x/1") == b"first"
    if url.startswith("s3"):  # the emulator of gcs ignores the precondition (ifGenerationMatch=0) that it is sent; gcs itself does not
        assert not storage.create("x/1", b"second") and storage.read("x/1") == b"first"
    bucket.LEASE_S = 3.0
    ledger = Ledger(url, "mine/a", "work", "study")
    key = ledger.key(REQUEST, 0)
    ledger.send(REQUEST, key, 0, 100)
    try:
        Ledger(url, "mine/a")
        raise AssertionError("two processes write one unit")
    except LeaseHeld:
        pass
    ledger._lease._released.set()  # type: ignore[attr-defined]  # its pod is killed
    time.sleep(4.5)
    with Ledger(url, "mine/a", "work", "study") as follower:
        follower.returned(follower.send(REQUEST, key, 0, 100), REQUEST, {"text": "hi"}, {}, 40)
        stored = follower.stored(key)
        assert stored is not None and stored.response == {"text": "hi"} and follower.claim(0, 0) == (140, 2)
    assert [line.state for line in read_requests(url)] == [State.UNRESOLVED, State.RETURNED]
    assert accounts(read_requests(url)).charged_microdollars == 140
    with AttemptStore(url, "study").begin("rollouts/pool/x/0", "0" * 64) as attempt:
        (attempt.folder / "trajectory.jsonl").write_text("whole")
        attempt.complete()
    found = AttemptStore(url).find_complete("rollouts/pool/x/0", "0" * 64)
    assert found is not None and (found.folder / "trajectory.jsonl").read_text() == "whole"


if __name__ == "__main__":
    try:
        keep_promises(serve(sys.argv[1]))
        print("holds", flush=True)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(0)  # the servers' threads do not end by themselves
