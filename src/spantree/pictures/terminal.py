"""A tree in plain text, for the terminal."""

from collections.abc import Sequence
from typing import Any

from spantree.pictures.inputs import heads_of, marginals_of, names_of
from spantree.pictures.lettering import cells, percent

__all__ = ["tree_text"]

_GAP = 3  # columns between the longest name and the probabilities


def tree_text(heads: Any, names: Sequence[Any] | None = None, marginals: Any = None) -> str:
    """A tree drawn with box-drawing characters, the root on top.

    Args:
        heads: ``(n,)``, a tree; -1 for the root and, at the end, for padding, which is left out.
        names: the names of the nodes that are left, the root's first or without it.
        marginals: ``(n, n)`` probabilities of edges, ``[head, dependent]``; that of the edge into a
            node is written behind it.

    Returns:
        Lines without a newline at the end. Any depth will do.

    Example:
        >>> print(tree_text([-1, 2, 0, 2], ["cats", "chase", "mice"]))
        ROOT
        └─ chase
           ├─ cats
           └─ mice
    """
    known = heads_of(heads)
    while len(known) > 2 and known[-1] < 0:
        known.pop()
    labels = names_of(names, len(known))
    lines = _drawn(known, labels)
    if marginals is None:
        return "\n".join(line for _, line in lines)
    probabilities = marginals_of(marginals)
    if len(probabilities) < len(known):
        raise ValueError(
            f"marginals must have shape ({len(known)}, {len(known)}) like the heads, "
            f"got {probabilities.shape}"
        )
    shares = [percent(float(probabilities[known[node], node])) for node, _ in lines[1:]]
    edge = max(cells(line) for _, line in lines) + _GAP
    width = max(map(len, shares))
    shown = [
        line + " " * (edge - cells(line)) + share.rjust(width)
        for (_, line), share in zip(lines[1:], shares, strict=True)
    ]
    return "\n".join([lines[0][1], *shown])


def _drawn(heads: list[int], names: list[str]) -> list[tuple[int, str]]:
    """Every node and its line, in the order of the drawing."""
    children: list[list[int]] = [[] for _ in heads]
    for node, head in enumerate(heads):
        if node and head < 0:
            raise ValueError(f"heads must be a tree: node {node} has no head")
        if node:
            children[head].append(node)
    lines = [(0, names[0])]
    # A stack of our own: a tree can be deeper than Python's.
    waiting = [(child, "", child == children[0][-1]) for child in reversed(children[0])]
    while waiting:
        node, indent, is_last = waiting.pop()
        lines.append((node, indent + ("└─ " if is_last else "├─ ") + names[node]))
        below = indent + ("   " if is_last else "│  ")
        waiting += [(child, below, child == children[node][-1]) for child in children[node][::-1]]
    if len(lines) < len(heads):
        lost = sorted(set(range(len(heads))) - {node for node, _ in lines})
        raise ValueError(f"heads must be a tree: nodes {lost} are in a cycle, or below one")
    return lines
