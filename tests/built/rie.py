"""A built function in AWS's Lambda Runtime Interface Emulator, without Docker, with the embedded AWS.

    with Runtime(python, build, deployment, "InboxFunction", client=ric) as inbox:
        answer = inbox.invoke(event)

The emulator offers Lambda's runtime API to awslambdaric, the client in AWS's own runtime. The process has the function,
the layer and that client on its path, in the order of Lambda, and nothing else of this machine except its Python.
"""

import http.client
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, Any

from tests.aws import function as said_of
from tests.built.tools import ARCHITECTURE, LAYERS, rie_binary
from tests.patience import PATIENCE
from tests.roles import session_of

from postroom.local.clients import REGION
from postroom.local.ports import HOST, free_port
from postroom.local.stack import LocalDeployment

Json = dict[str, Any]


def search_path(build: Path, function: str) -> str:
    """The first folders on the path of Lambda's Python: the function, then the layer."""
    return os.pathsep.join([str(build / function), str(build / LAYERS[ARCHITECTURE] / "python")])


class Runtime:
    """A running function; a context manager. `client`: a folder with awslambdaric for `python`."""

    def __init__(
        self,
        python: str,
        build: Path,
        deployment: LocalDeployment,
        function: str,
        *,
        client: Path,
        log: Path,
        handler: str = "",
        beside: Path | None = None,
    ) -> None:
        has = deployment.client("lambda").get_function_configuration(FunctionName=deployment.outputs[function])
        self._port, self._log = free_port(), log
        path = [search_path(build, function), str(client), *([str(beside)] if beside else [])]
        self._environment = {
            **has["Environment"]["Variables"],
            **session_of(deployment, has["Role"]),
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": deployment.client.endpoint,
            "AWS_LAMBDA_FUNCTION_NAME": function,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(said_of(function)["MemorySize"]),
            "AWS_LAMBDA_FUNCTION_TIMEOUT": str(said_of(function)["Timeout"]),
            "LAMBDA_TASK_ROOT": str(build / function),
            "PYTHONPATH": os.pathsep.join(path),
            "PYTHONDONTWRITEBYTECODE": "1",  # the layer must not be changed
            "LANG": "C.UTF-8",
            "TZ": ":UTC",
        }
        addresses = ["--runtime-interface-emulator-address", f"{HOST}:{self._port}"]
        addresses += ["--runtime-api-address", f"{HOST}:{free_port()}"]
        # -S -s -P: without the packages of this environment, and without the working directory.
        runtime = [python, "-S", "-s", "-P", "-m", "awslambdaric", handler or said_of(function)["Handler"]]
        self._command = [str(rie_binary()), "--log-level", "warn", *addresses, *runtime]
        self._running: subprocess.Popen[bytes] | None = None
        self._file: IO[bytes] | None = None

    def __enter__(self) -> "Runtime":
        self._file = self._log.open("wb")
        self._running = subprocess.Popen(
            self._command,
            env=self._environment, cwd=self._environment["LAMBDA_TASK_ROOT"],
            stdout=self._file, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        assert self._running is not None
        assert self._file is not None
        os.killpg(self._running.pid, signal.SIGKILL)
        self._running.wait()
        self._file.close()

    def invoke(self, event: Json) -> Any:
        """The response of the function. Raises AssertionError with its output if the emulator does not answer."""
        connection = self._connect()
        connection.request("POST", "/2015-03-31/functions/function/invocations", json.dumps(event).encode())
        response = connection.getresponse()
        answer = json.loads(response.read() or b"null")
        connection.close()
        assert response.status == http.client.OK, (answer, self.written())
        return answer

    def written(self) -> str:
        """The log of the function."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def _connect(self) -> http.client.HTTPConnection:
        end = time.monotonic() + PATIENCE
        while True:
            connection = http.client.HTTPConnection(HOST, self._port, timeout=PATIENCE)
            try:
                connection.connect()
            except ConnectionRefusedError:
                assert time.monotonic() < end, self.written()
                time.sleep(0.02)
            else:
                return connection
