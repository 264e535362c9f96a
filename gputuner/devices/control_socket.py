"""A helper that systemd starts at the other end of a socket, with the face of a process."""

import contextlib
import socket
import subprocess
import threading
from pathlib import Path
from typing import IO

from gputuner.model.errors import DeviceError


class SocketHelper:
    """Streams over a connection; it has ended when the other end has closed it."""

    stderr: IO[bytes] | None = None
    pid = 0

    def __init__(self, path: Path) -> None:
        """Connect.

        Raises:
            DeviceError: nobody listens.
        """
        self.program = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(str(path))
        except OSError as err:
            self._socket.close()
            raise DeviceError("control_no_helper", f"{path}: {err}", program=str(path), message=str(err)) from err
        self.stdin: IO[bytes] | None = _Sending(self._socket)  # pyright: ignore[reportAttributeAccessIssue]
        self.stdout: IO[bytes] | None = self._socket.makefile("rb")
        self.ended = threading.Event()

    def poll(self) -> int | None:
        """0 once the other end is gone."""
        return 0 if self.ended.is_set() else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the other end to close.

        Raises:
            subprocess.TimeoutExpired: it has not.
        """
        if not self.ended.wait(timeout):
            raise subprocess.TimeoutExpired(self.program, timeout or 0.0)
        self._socket.close()
        return 0


class _Sending:
    """The half of a connection that is written; closing it is the end of the other end's input."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def write(self, data: bytes) -> int:
        self._connection.sendall(data)
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
