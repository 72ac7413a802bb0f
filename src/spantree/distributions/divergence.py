"""KL(p‖q), in the registry of torch.distributions."""

from torch import Tensor
from torch.distributions import register_kl

from spantree.distributions.labeled import LabeledSpanningTree
from spantree.distributions.quantities import Quantities
from spantree.distributions.spanning_tree import SpanningTree

__all__: list[str] = []


@register_kl(SpanningTree, SpanningTree)
@register_kl(LabeledSpanningTree, LabeledSpanningTree)
def _kl_divergence(p: Quantities, q: Quantities) -> Tensor:
    return p.kl_divergence(q)
