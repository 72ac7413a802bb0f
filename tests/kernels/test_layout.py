"""However a tensor lies in memory, the kernel reads the numbers that it shows."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from spantree import best_tree, best_trees, edge_marginals, hessian_vector_product, sample_trees

LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.mT.contiguous().mT,
    "strided": lambda x: torch.stack([x, -x], dim=-1)[..., 0],
    "expanded": lambda x: x[:1].expand(x.shape),
    # Torch negates the imaginary part of a conjugate only when it is read.
    "negated when read": lambda x: torch.complex(x, -x).conj().imag,
}
QUESTIONS: dict[str, Callable[[Tensor], object]] = {
    "marginals": edge_marginals,
    "Hessian product": lambda x: hessian_vector_product(x.detach().clone(), x),
    "best tree": best_tree,
    "best trees": lambda x: best_trees(x, 3),
    "samples": lambda x: sample_trees(x, (5,), generator=torch.Generator().manual_seed(0)),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_layout_in_memory_does_not_matter(layout, question):
    generator = torch.Generator().manual_seed(0)
    laid_out = layout(torch.randn(3, 6, 6, dtype=torch.float64, generator=generator))
    plain = torch.tensor(laid_out.tolist(), dtype=torch.float64)
    assert not laid_out.is_contiguous() or laid_out.is_neg()
    torch.testing.assert_close(question(laid_out), question(plain), rtol=0, atol=0)
