"""The command as a process: signals, a terminal, missing packages."""

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

COMMAND = [sys.executable, "-m", "spantree"]

# A command whose writing of tables takes long enough to be interrupted in it.
SLOW = """
import sys, time
import spantree.graphs.writing as writing
from spantree.cli import main

def slow(path, table, progress):
    path.write_text("half")
    print("writing", flush=True)
    time.sleep(60)

writing._write_delimited = slow
main()
"""


@pytest.mark.parametrize(
    ("out", "number", "code", "message"),
    [
        ("out", signal.SIGINT, 130, "spantree: interrupted\n"),
        ("out.csv", signal.SIGTERM, 143, ""),
    ],
)
def test_nothing_is_left_when_interrupted(edges, out, number, code, message):
    command = [sys.executable, "-c", SLOW, "infer", str(edges), "--out", str(edges.parent / out)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        assert len(os.listdir(edges.parent)) == 2
        time.sleep(0.1)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == code
    assert stderr == message
    assert os.listdir(edges.parent) == ["edges.csv"]


def test_progress_is_for_terminals_only(edges):
    shown = {}
    for options in ((), ("--quiet",)):
        controller, terminal = pty.openpty()
        command = [*COMMAND, "infer", str(edges), *options]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, check=True)
        os.close(terminal)
        shown[options] = _read_all(controller)
        assert b"log Z" in run.stdout
    assert "reading edges.csv" in shown[()]
    assert shown[("--quiet",)] == ""


def _read_all(controller: int) -> str:
    parts = []
    while True:
        try:
            part = os.read(controller, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(controller)
    return b"".join(parts).decode()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_no_error(edges, unbuffered):
    command = " ".join([*COMMAND, "infer", str(edges), "--json"])
    run = subprocess.run(
        ["sh", "-c", f"{command} | true"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )
    assert run.stderr == ""


@pytest.mark.parametrize("hidden", ["typer", "rich"])
def test_without_the_packages_of_the_command_line(hidden):
    script = f"import sys; sys.modules[{hidden!r}] = None; import spantree.cli; spantree.cli.main()"
    run = subprocess.run(
        [sys.executable, "-c", script, "infer"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stderr == (
        f"spantree: {hidden} is needed for the command line: pip install 'spantree[cli]'\n"
    )
