"""The questions about tree distributions that are not about single trees."""

import torch
from torch import Tensor

from spantree.checks import check_indices, check_order
from spantree.distributions.graphs import WeightedGraphs
from spantree.inference import conditioning, covariances, entropies, expectations
from spantree.inference.covariances import CovarianceMethod

__all__ = ["Quantities"]


class Quantities(WeightedGraphs):
    """Expectations, covariances, entropies and divergences; each is a call of `inference`."""

    def expectation(self, features: Tensor) -> Tensor:
        """E[Σ of the features over the tree's edges], T1 of the paper.

        Args:
            features: dense or ``torch.sparse_coo``, shaped like ``log_weights`` for one scalar
                feature, with one more axis for R of them; batch axes may be left out.

        Returns:
            ``(*batch, R)``, or ``(*batch,)`` for a scalar feature. O(N² R) beyond the marginals, or
            the number of non-zeros. Differentiable in the weights and in the features.
        """
        return self._rounded(expectations.expectation(self._ensemble, self._solution[1], features))

    def product_expectation(self, log_q: Tensor) -> Tensor:
        """Log E[Π of q over the tree's edges]; ``log_q`` is shaped like features."""
        return self._rounded(
            expectations.log_product_expectation(self._ensemble, self._solution[0], log_q)
        )

    def covariance(
        self, r: Tensor, s: Tensor | None = None, *, method: CovarianceMethod = "auto"
    ) -> Tensor:
        """Cov(r, s) of two features of edges, summed along trees; T2 of the paper, centred.

        Args:
            r: features, as for `expectation`.
            s: features; r itself if None.
            method: ``"exact"`` to the last digits; ``"gradient"``, cheaper with many sparse
                features, loses digits where nodes are bound in cycles; ``"auto"`` takes the second
                where it is much cheaper and harmless (see `inference.covariances`).

        Returns:
            ``(*batch, R, S)``, without the axis of a scalar feature.
        """
        return self._rounded(covariances.covariance(self._ensemble, r, s, method=method))

    def second_moment(
        self, r: Tensor, s: Tensor | None = None, *, method: CovarianceMethod = "auto"
    ) -> Tensor:
        """E[r sᵀ]; arguments and result as for `covariance`."""
        marginals = self._solution[1]
        return self._rounded(
            covariances.second_moment(self._ensemble, marginals, r, s, method=method)
        )

    def entropy(self) -> Tensor:
        """Shannon entropy in nats ``(*batch,)``. Its gradient costs O(N³), as it does itself."""
        return self._rounded(entropies.entropy(self._state))

    def cross_entropy(self, q: "Quantities") -> Tensor:
        """−E[log q] under this distribution; +inf where it has mass that q forbids.

        Gradients are then those of the finite part: forbidden edges move neither p nor q.
        """
        return self._rounded(entropies.cross_entropy(self._state, self._comparable(q)))

    def kl_divergence(self, q: "Quantities") -> Tensor:
        """KL(self‖q), as ``torch.distributions.kl_divergence``; infinite as `cross_entropy`."""
        return self._rounded(entropies.kl_divergence(self._state, self._comparable(q)))

    def renyi_entropy(self, order: float) -> Tensor:
        """Rényi entropy; Hartley's log-count for order 0, Shannon's for 1, min-entropy for inf."""
        check_order(order)
        if not order >= 0:
            raise ValueError(f"order must be a number >= 0, got {order}")
        if order == 1:
            return self.entropy()
        if order == torch.inf:
            return -self._largest_log_prob()
        return self._rounded(entropies.renyi_entropy(self._state, float(order)))

    def norm(self, order: float) -> Tensor:
        """The ℓ_k norm (Σ p^k)^(1/k) of the vector of tree probabilities, k > 0, or k = inf."""
        check_order(order)
        if not order > 0:
            raise ValueError(f"order must be a number > 0, got {order}")
        if order == torch.inf:
            return self._largest_log_prob().exp()
        log_partition = self._solution[0]
        log_norm = entropies.log_norm(self._ensemble, log_partition, float(order))
        return self._rounded(log_norm.exp())

    def pair_marginals(self, edges: Tensor) -> Tensor:
        """The probability of both the k-th of ``edges`` and another edge, ``(K, *log_weights)``.

        Args:
            edges: ``(K, 2)`` integers (head, dependent); ``(K, 3)`` with labels.
        """
        check_indices("edges", edges, tuple(self._ensemble.edge_shape), self.log_weights.device)
        marginals = self._solution[1]
        return self._rounded(conditioning.pair_marginals(self._ensemble, marginals, edges))

    def _largest_log_prob(self) -> Tensor:
        raise NotImplementedError

    @property
    def _state(self) -> entropies.Solved:
        return entropies.Solved(self._ensemble, *self._solution)

    def _comparable(self, q: "Quantities") -> entropies.Solved:
        """The q of a divergence from this."""
        if type(q) is not type(self):
            raise TypeError(f"q must be a {type(self).__name__} like p, got {type(q).__name__}")
        theirs, ours = q._ensemble.edge_shape, self._ensemble.edge_shape
        if theirs != ours:
            raise ValueError(
                f"q must have graphs of the size of p's, edges {tuple(ours)}, got {tuple(theirs)}"
            )
        try:
            torch.broadcast_shapes(q.batch_shape, self.batch_shape)
        except RuntimeError:
            raise ValueError(
                f"q must have a batch shape that broadcasts with p's {tuple(self.batch_shape)}, "
                f"got {tuple(q.batch_shape)}"
            ) from None
        if self.lengths is not None or q.lengths is not None:
            longest = torch.tensor(ours[0] - 1, device=self.log_weights.device)
            mine, others = (longest if d.lengths is None else d.lengths for d in (self, q))
            if not bool((mine == others).all()):
                raise ValueError(
                    f"q must have the lengths of p, {mine.tolist()}, got {others.tolist()}"
                )
        return q._state
