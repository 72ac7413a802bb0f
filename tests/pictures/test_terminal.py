"""Trees in plain text, against drawings made by hand."""

from textwrap import dedent

import pytest
import torch

from spantree.pictures import tree_text
from spantree.pictures.lettering import cells


def drawn(text: str) -> str:
    return dedent(text).strip("\n")


def test_a_tree_with_names_and_probabilities():
    marginals = torch.zeros(5, 5)
    for head, node, p in [(2, 1, 0.9731), (0, 2, 1.0), (4, 3, 0.052), (2, 4, 1e-9)]:
        marginals[head, node] = p
    text = tree_text([-1, 2, 0, 4, 2], ["we", "saw", "the", "film"], marginals)
    assert text == drawn("""
        ROOT
        └─ saw         100.0 %
           ├─ we        97.3 %
           └─ film     < 0.1 %
              └─ the     5.2 %
    """)


def test_several_roots_without_names():
    assert tree_text([-1, 0, 1, 1, 0, 4]) == drawn("""
        ROOT
        ├─ 1
        │  ├─ 2
        │  └─ 3
        └─ 4
           └─ 5
    """)


def test_the_root_can_have_a_name():
    assert tree_text([-1, 0], ["ρ", "only"]) == "ρ\n└─ only"


def test_probabilities_are_aligned_behind_wide_letters_and_marks():
    names = ["映画", "cafe\u0301", "plain"]
    lines = tree_text([-1, 0, 1, 1], names, torch.full((4, 4), 0.25)).splitlines()[1:]
    assert len({cells(line) for line in lines}) == 1
    assert cells("映画") == cells("cafe\u0301") == 4


def test_padding_is_left_out():
    heads = torch.tensor([-1, 0, 1, -1, -1])
    marginals = torch.full((5, 5), 0.5)
    assert tree_text(heads, ["a", "b"], marginals) == tree_text([-1, 0, 1], ["a", "b"], marginals)


def test_a_tree_deeper_than_the_stack():
    n = 3000
    lines = tree_text(range(-1, n)).splitlines()
    assert len(lines) == n + 1
    assert lines[-1] == "   " * (n - 1) + f"└─ {n}"


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([-1, 2, 1, 0], r"heads must be a tree: nodes \[1, 2\] are in a cycle, or below one"),
        ([-1, -1, 0], "heads must be a tree: node 1 has no head"),
        ([-1, 3, 0], r"heads must hold other nodes in 0\.\.2, or -1 where unknown, got 3 for node"),
    ],
)
def test_what_is_no_tree(heads, message):
    with pytest.raises(ValueError, match=message):
        tree_text(heads)


def test_marginals_of_too_few_nodes():
    with pytest.raises(ValueError, match=r"marginals must have shape \(3, 3\) .* got \(2, 2\)"):
        tree_text([-1, 0, 1], None, torch.zeros(2, 2))
