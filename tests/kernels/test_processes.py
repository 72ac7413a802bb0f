"""Decoding and sampling among threads and processes: the interpreter lock, forks, interrupts."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Generator, Tensor

import spantree as st
from tests.graphs import random_graphs

CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "best trees": lambda graphs: st.best_trees(graphs, 20)[0],
    "best labelled trees": lambda graphs: (
        st.LabeledSpanningTree(graphs[..., None].expand(*graphs.shape, 3)).topk(20)[0].labels
    ),
    "samples": lambda graphs: st.sample_trees(graphs, (100,), generator=Generator().manual_seed(1)),
}


@pytest.fixture(params=CALLS)
def call(request: pytest.FixtureRequest) -> Callable[[Tensor], Tensor]:
    return CALLS[request.param]


LONG: dict[str, Callable[[], object]] = {
    "best trees": lambda: st.best_trees(random_graphs((), 60), 20_000),
    "samples": lambda: st.sample_trees(random_graphs((), 60), (100_000,)),
}


@pytest.mark.parametrize("name", LONG)
def test_other_python_threads_run_meanwhile(name):
    """A thread that wants the lock every millisecond never waits long."""
    LONG[name]()  # whatever is set up once
    gaps, done = [], threading.Event()

    def tick() -> None:
        last = time.perf_counter()
        while not done.wait(0.001):
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    LONG[name]()
    took = time.perf_counter() - start
    done.set()
    ticker.join()
    assert took > 0.05, "too quick to tell"
    assert max(gaps) < 0.7 * took, f"waited {max(gaps):.3f} s of {took:.3f}"


def test_calls_from_several_python_threads(call, threads):
    batches = [random_graphs((8,), 15, seed=seed) for seed in range(6)]
    expected = [call(graphs) for graphs in batches]
    with ThreadPoolExecutor(3) as executor:
        for _ in range(3):
            actual = list(executor.map(call, batches))
            assert all(torch.equal(a, e) for a, e in zip(actual, expected, strict=True))


@pytest.mark.parametrize("name", ["best trees", "samples"])
def test_a_forked_process(name):
    """The pool of threads does not survive a fork; the child starts one of its own.

    Torch's threads do not survive either, and torch would wait for them for ever: so nothing here
    has torch reduce a large tensor, as labels do.
    """
    call, graphs = CALLS[name], random_graphs((20,), 20)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    expected = call(graphs)

    def child(connection) -> None:
        connection.send_bytes(call(graphs).numpy().tobytes())

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(sender,))
    process.start()
    try:
        assert receiver.poll(60), "the child hangs"
        assert receiver.recv_bytes() == expected.numpy().tobytes()
        process.join(60)
        assert process.exitcode == 0
    finally:
        process.kill()
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_arrives_and_breaks_nothing(name):
    timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))

    def until_interrupted() -> None:
        timer.start()
        for _ in range(1000):
            LONG[name]()

    with pytest.raises(KeyboardInterrupt):
        until_interrupted()
    heads = st.best_tree(random_graphs((), 5))
    assert torch.equal(heads, st.best_trees(random_graphs((), 5), 1)[0][0])
