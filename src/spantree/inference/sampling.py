"""Exact samples of random trees."""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from spantree.checks import Root, check_generator, check_sample_shape
from spantree.errors import raise_for_lengths, raise_for_status
from spantree.inference.ensemble import Ensemble
from spantree.inference.labels import label_posteriors
from spantree.inference.trees import node_mask
from spantree.kernels import sampling

__all__ = ["sample", "sample_trees"]

# How many probabilities of labels are held at once, at least those of one sample.
LABELS_AT_ONCE = 2**22


def sample_trees(
    log_weights: Tensor,
    sample_shape: Sequence[int] = (),
    lengths: Tensor | None = None,
    *,
    root: Root = "single",
    generator: Generator | None = None,
    validate_args: bool | None = None,
) -> Tensor:
    """Draw independent trees, each with exactly its probability.

    Every tree takes the quicker of two exact ways, known before it is drawn (see "Sampling" in the
    documentation): some microseconds for a sentence, at most O(N²) whatever the weights, beside the
    O(N³) that log Z takes once per graph. Computed on the CPU.

    Args:
        log_weights: ``(..., n, n)``; see `log_partition`, as for all other arguments.
        sample_shape: how many trees to draw of each graph, as a shape.
        lengths: ``(...)`` number of non-root nodes of each graph.
        root: ``"single"`` or ``"multi"``.
        generator: on the CPU; the default is torch's own. The same state of the generator gives the
            same trees on any number of threads, and each call moves it on by one draw.
        validate_args: whether to raise for bad values and for graphs without a tree, whose heads
            are all -1 otherwise.

    Returns:
        Heads ``(*sample_shape, ..., n)`` int64, -1 for the root and for padding.

    Example:
        >>> import torch
        >>> log_weights = torch.zeros(4, 4)  # nine trees of equal probability
        >>> generator = torch.Generator().manual_seed(0)
        >>> heads = sample_trees(log_weights, (90_000,), generator=generator)
        >>> trees, counts = heads.unique(dim=0, return_counts=True)
        >>> len(trees), bool((counts - 10_000).abs().max() < 500)
        (9, True)
    """
    ensemble = Ensemble.of(log_weights, lengths, root, validate_args)
    return sample(ensemble, sample_shape, generator)[0]


def sample(
    ensemble: Ensemble, sample_shape: Sequence[int], generator: Generator | None
) -> tuple[Tensor, Tensor | None]:
    """Heads, and with labels those of the edges, each ``(*sample_shape, *batch, n)`` int64."""
    check_generator(generator)
    shape = check_sample_shape(sample_shape)
    batch, n = ensemble.batch_shape, ensemble.edge_shape[0]
    log_weights = ensemble.plain().log_weights.detach().cpu().reshape(-1, n, n)
    lengths = None if ensemble.lengths is None else ensemble.lengths.cpu().flatten()
    heads = _heads(log_weights, lengths, ensemble, shape.numel(), generator)
    heads = heads.to(ensemble.log_weights.device).reshape(*shape, *batch, n)
    labels = _labels(ensemble, heads, generator) if ensemble.edge_axes == 3 else None
    return heads, labels


def _heads(
    log_weights: Tensor,
    lengths: Tensor | None,
    ensemble: Ensemble,
    samples: int,
    generator: Generator | None,
) -> Tensor:
    """``(samples, B, n)``."""
    question = ensemble.question
    if lengths is not None:
        raise_for_lengths(lengths, log_weights.shape[-1] - 1, question.batch_shape)
    plan = sampling.plan(log_weights, lengths, single_root=question.single_root)
    if question.validate and plan.status is not None:
        raise_for_status(
            plan.status,
            log_weights,
            lengths,
            question.batch_shape,
            single_root=question.single_root,
        )
    seed = int(torch.randint(-(2**63), 2**63 - 1, (), generator=generator)) % 2**64
    return sampling.draw(
        log_weights, lengths, plan, seed, samples, single_root=question.single_root
    )


def _labels(ensemble: Ensemble, heads: Tensor, generator: Generator | None) -> Tensor:
    """A label for every edge, like ``heads``: given the tree, labels are independent.

    O(Y) per edge, some samples at a time.
    """
    n, labels = ensemble.edge_shape[0], ensemble.edge_shape[-1]
    posteriors = label_posteriors(ensemble.log_weights.detach()).reshape(-1, n, n, labels)
    cumulative = posteriors.cumsum(-1).reshape(-1, labels)
    count = len(cumulative) // n**2
    item, node = torch.meshgrid(torch.arange(count), torch.arange(n), indexing="ij")
    column = (item * n * n + node).to(heads.device)
    samples = heads.shape[: heads.dim() - 1 - len(ensemble.batch_shape)].numel()
    flat = heads.reshape(samples, count, n)
    drawn = torch.empty_like(flat)
    at_once = max(1, LABELS_AT_ONCE // max(1, count * n * labels))
    for chunk, out in zip(flat.split(at_once), drawn.split(at_once), strict=True):
        sums = cumulative[column + chunk.clamp_min(0) * n]
        points = torch.rand(chunk.shape, generator=generator, dtype=torch.float64).to(heads.device)
        # The first label whose cumulative probability exceeds the point; its own is not 0.
        torch.sum(sums <= (points * sums[..., -1])[..., None], -1, out=out)
    real = node_mask(n, ensemble.lengths, heads.device) & (heads >= 0)
    return drawn.reshape(heads.shape).where(real, -1)
