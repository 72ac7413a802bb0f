"""Assembling a graph from any list of edges, against dictionaries."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spantree.graphs import GraphError, from_table

NAMES = st.sampled_from(["a", "b", "c", 1, ("d",)])
ROWS = st.lists(st.tuples(NAMES, NAMES, st.sampled_from([0.0, 0.5, 1.0, 4.0])), min_size=1)


@given(rows=ROWS, undirected=st.booleans(), merge=st.sampled_from([None, "sum", "max"]))
def test_any_list_of_edges(rows, undirected, merge):
    sources, targets, weights = (list(column) for column in zip(*rows, strict=True))
    root = sources[0]
    edges: dict[frozenset | tuple, list[float]] = {}
    for source, target, weight in rows:
        if source != target:
            key = frozenset((source, target)) if undirected else (source, target)
            edges.setdefault(key, []).append(weight)
    table = {"source": sources, "target": targets, "weight": weights}
    names = dict.fromkeys([*sources, *targets])
    options = {"root": root, "undirected": undirected, "merge": merge}
    if merge is None and any(len(several) > 1 for several in edges.values()):
        with pytest.raises(GraphError, match="repeats"):
            from_table(table, **options)
        return
    if len(names) == 1:
        with pytest.raises(GraphError, match="a root and another node"):
            from_table(table, **options)
        return
    graph = from_table(table, **options)
    combine = {None: sum, "sum": sum, "max": max}[merge]
    wanted = {}
    for key, several in edges.items():
        ends = tuple(key)
        if combine(several) > 0 and (undirected or ends[1] != root):
            wanted[key] = combine(several)
    found = graph.edge_table()
    keys = zip(found["source"], found["target"], strict=True)
    keys = [frozenset(pair) if undirected else pair for pair in keys]
    assert len(set(keys)) == len(keys) == graph.edge_count
    table = dict(zip(keys, found["weight"], strict=True))
    assert set(table) == set(wanted)
    assert all(math.isclose(table[key], wanted[key], rel_tol=1e-12) for key in wanted)
    assert set(graph.names) == set(names)
    assert graph.root == root
    assert list(graph.names[1:]) == [name for name in names if name != root]
