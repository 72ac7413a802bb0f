"""Choosing trees: the best, the k best, random ones."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from spantree.checks import check_generator, check_sample_shape
from spantree.distributions.base import TreeDistribution
from spantree.inference import decoding
from spantree.inference.perturbation import perturb
from spantree.inference.sampling import sample
from spantree.inference.without_replacement import sample_without_replacement

__all__ = ["ChoosingTrees"]


class ChoosingTrees(TreeDistribution):
    """Decoding and sampling; each is a call of `inference`.

    Trees are constants: to learn from them, see "Gradient estimators" in the documentation.
    """

    @property
    def mode(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The most probable tree; of equal ones the first in the order of `best_tree`. O(N²)."""
        return self.argmax()

    def argmax(self, return_score: bool = False) -> Any:
        """The most probable tree and, if asked for, the sum of its log-weights ``(*batch,)``."""
        heads, labels, scores = decoding.best_of(self._ensemble)
        tree = self._event(heads, labels)
        return (tree, self._rounded(scores)) if return_score else tree

    def topk(self, k: int) -> tuple[Any, Tensor]:
        """The k most probable trees in order, and their log-probabilities ``(k, *batch)``.

        Where there are fewer the rest is -1, and its log-probability -inf. O(k N²) beyond log Z.
        """
        heads, labels, scores = decoding.k_best_of(self._ensemble, k)
        return self._event(heads, labels), self._log_probs_of(scores)

    def mbr(self) -> Any:
        """The tree of least Bayes risk: of greatest expected attachment, with labels if any."""
        marginals = self._solution[1].detach()
        heads, labels, _ = decoding.minimum_bayes_risk_of(self._ensemble, marginals)
        return self._event(heads, labels)

    def sample(self, sample_shape: Sequence[int] = (), generator: Generator | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Independent exact samples ``(*sample_shape, *batch, n)``; see `sample_trees`."""
        return self._event(*sample(self._ensemble, sample_shape, generator))

    def sample_without_replacement(
        self, k: int, generator: Generator | None = None
    ) -> tuple[Any, Tensor]:
        """K different trees, each drawn from those not drawn yet, and their log-probabilities.

        ``(k, *batch, n)`` and ``(k, *batch)``, in the order of drawing. Where there are fewer than
        k trees, all of them are drawn, and the rest is as with `topk`.
        """
        heads, labels, log_probs = sample_without_replacement(self._ensemble, k, generator)
        return self._event(heads, labels), self._rounded(log_probs)

    def perturb_and_map(
        self,
        noise_scale: float = 1.0,
        sample_shape: Sequence[int] = (),
        generator: Generator | None = None,
    ) -> Any:
        """The best trees under Gumbel noise on every edge ``(*sample_shape, *batch, n)``.

        Quick, and not a sample of this distribution: the noise of trees that share edges is
        correlated. With ``noise_scale=0`` the mode.
        """
        check_generator(generator)
        shape = check_sample_shape(sample_shape)
        noisy = perturb(self._ensemble, noise_scale, shape, generator)
        heads, labels, _ = decoding.best_of(noisy)
        return self._event(heads, labels)

    def _largest_log_prob(self) -> Tensor:
        return self._log_probs_of(decoding.best_of(self._ensemble).scores)

    def _log_probs_of(self, scores: Tensor) -> Tensor:
        """-inf where there is no tree, even if there is none at all and log Z is -inf, too."""
        exists = scores != -torch.inf
        log_probs = scores.where(exists, 0.0) - self._solution[0]
        return self._rounded(log_probs.where(exists, -torch.inf))
