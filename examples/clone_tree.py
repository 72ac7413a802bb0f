# %% [markdown]
# # The clone tree of a tumour
#
# A tumour grows from one founder cell. Its descendants gain mutations and now and then lose some,
# and form clones. Sequencing counts, at thousands of loci, how many reads of each clone carry the
# variant. Which clone descends from which? The answer is a spanning tree that starts at the normal
# cell and has exactly one edge from it, to the founder clone (`root="single"`).
#
# Thousands of loci make for log-likelihoods in the thousands. Clones that share a long trunk are
# each other's likeliest parents by hundreds of orders of magnitude, and which of them comes first
# is decided by a handful of loci. This is where a determinant in double precision breaks down, and
# with it every method built on the matrix-tree theorem in its textbook form.
#
# **Model.** Along an edge of the tree each locus gains a mutation with probability γ, and loses one
# it has with probability δ, as deletions do. Branches are short or long, each with its own γ and δ,
# and we do not know which. About half of the reads of a locus carry a (heterozygous) mutation that
# is present; of one that is absent, only reads in error do. A parent's genotype g is judged by its
# own reads. The log-likelihood is then a sum over the edges of the tree:
#
# $$ \log P(\text{reads} \mid \text{tree}) = \sum_{a \to b} \log \sum_{\text{branch}}
#    P(\text{branch}) \prod_{\text{loci}} \sum_{g_a, g_b}
#    P(g_a \mid \text{reads}_a)\, P(g_b \mid g_a, \text{branch})\, P(\text{reads}_b \mid g_b) $$
#
# This is exact where the reads settle the genotypes, as they do here, with some 60 of them per
# clone and locus. What stays uncertain is history: of two clones that each lack a mutation of the
# other, either may descend from the other.
#
# That clone trees are spanning trees of a graph of possible ancestors is the view of *AncesTree*
# (El-Kebir and others, 2015); Govek and others (2018) take the best such tree as a consensus. Here
# we ask for all of them at once, with their probabilities.

# %%
from decimal import Decimal, localcontext
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Generator, Tensor

import spantree as st
from spantree.extras import load

plt = load("matplotlib.pyplot", extra="plot", purpose="to draw the pictures")
OUT = Path("out")
OUT.mkdir(exist_ok=True)
torch.set_default_dtype(torch.float64)

ERROR = 0.003  # of reads
MUTATED = 0.2  # share of mutated loci, before the reads of a clone are seen
# Probabilities of gain and loss at a locus; a branch is as likely short as long.
SHORT, LONG = (0.0006, 0.001), (0.15, 0.003)


class Reads(NamedTuple):
    """Total and variant reads, ``(clones, loci)``."""

    depth: Tensor
    variant: Tensor


# %% [markdown]
# ## A simulated tumour
#
# A long trunk leads to the founder, and long branches to two sub-clones. All else is short.

# %%
CLONES = ["normal", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J"]
#          of   A  B  C  D  E  F  G  H  I  J
PARENTS = [-1, 0, 1, 1, 2, 4, 4, 6, 1, 8, 9]
LONG_BRANCHES = [1, 4, 8]  # to A, D and H


def simulate(
    parents: list[int], long: list[int], loci: int, depth: float, generator: Generator
) -> Reads:
    """Reads of clones 1, 2, ..., each evolved from a parent with a smaller number; 0 is normal."""
    genotypes = torch.zeros(len(parents), loci, dtype=torch.bool)
    for clone in range(1, len(parents)):
        gain, loss = LONG if clone in long else SHORT
        before = genotypes[parents[clone]]
        chance = torch.rand(loci, generator=generator)
        genotypes[clone] = torch.where(before, chance >= loss, chance < gain)
    total = torch.poisson(torch.full((len(parents) - 1, loci), depth), generator=generator)
    rate = torch.where(genotypes[1:], 0.5, ERROR)
    return Reads(total, torch.binomial(total, rate, generator=generator))


def log_likelihoods(reads: Reads) -> Tensor:
    """Log P(reads | absent or present) ``(clones, loci, 2)``, but for what both share."""
    log_variant = torch.tensor([ERROR, 0.5]).log()
    log_reference = torch.tensor([1 - ERROR, 0.5]).log()
    reference = reads.depth - reads.variant
    return reads.variant[..., None] * log_variant + reference[..., None] * log_reference


def edge_log_weights(reads: Reads) -> Tensor:
    """Log P(reads of a child | reads of its parent), ``(n, n)``; node 0 is the normal cell.

    Less what all parents of a child share: the likelihood of its reads if it had no mutation.
    """
    of_child = log_likelihoods(reads)
    of_parent = (of_child + torch.tensor([1 - MUTATED, MUTATED]).log()).log_softmax(-1)
    normal = torch.tensor([0.0, -torch.inf]).expand(1, of_parent.shape[1], 2)
    of_parent = torch.cat([normal, of_parent])  # (n, loci, 2)
    relative = of_child[..., 1] - of_child[..., 0]  # (n - 1, loci)
    by_branch = []
    for gain, loss in (SHORT, LONG):
        change = torch.tensor([[1 - gain, gain], [loss, 1 - loss]]).log()
        absent, present = torch.logsumexp(of_parent[..., None] + change, dim=-2).unbind(-1)
        loci = torch.logaddexp(absent[:, None], present[:, None] + relative)
        by_branch.append(loci.sum(-1))
    log_weights = torch.full((len(of_parent),) * 2, -torch.inf)
    log_weights[:, 1:] = torch.logsumexp(torch.stack(by_branch), dim=0) - torch.tensor(2.0).log()
    return log_weights.fill_diagonal_(-torch.inf)


reads = simulate(PARENTS, LONG_BRANCHES, 5000, 60.0, Generator().manual_seed(13))
log_weights = edge_log_weights(reads)
true_parent = torch.tensor(PARENTS)
n = len(CLONES)
edge = ~torch.eye(n, dtype=torch.bool)
edge[:, 0] = False
best_of_column = log_weights.amax(0)
spread = (best_of_column - log_weights)[edge].max() / torch.tensor(10.0).log()
print(f"{n - 1} clones, {reads.depth.shape[1]} loci, {int(reads.depth.sum()):,} reads")
print(f"the likelihoods of two parents of a clone differ by up to {spread:.0f} orders of magnitude")

# %% [markdown]
# ## The posterior of the clone tree

# %%
posterior = st.SpanningTree(log_weights, root="single")
probability = posterior.marginals
trees, log_probs = posterior.topk(3)

print(f"entropy {posterior.entropy():.3f} nats; the true tree has probability", end=" ")
print(f"{posterior.log_prob(true_parent).exp():.3f}")
print(f"the three most likely trees have {', '.join(f'{p:.3f}' for p in log_probs.exp().tolist())}")
print()
print("clone  likely parents                truth")
for clone in range(1, n):
    likely = probability[:, clone].topk(2)
    shown = [
        f"{CLONES[a]:6s} {p:.3f}  "
        for p, a in zip(likely.values.tolist(), likely.indices.tolist(), strict=True)
    ]
    print(f"{CLONES[clone]:5s}  {''.join(shown)}  {CLONES[PARENTS[clone]]}")

# %% [markdown]
# Descent over several generations is not an edge of the tree: it is read off exact samples.

# %%
samples = posterior.sample((4000,), generator=Generator().manual_seed(1))


def ancestors(heads: Tensor) -> Tensor:
    """How often a is an ancestor of b in trees ``(trees, n)``, as ``(n, n)``."""
    count = torch.zeros(n, n)
    above = torch.arange(n).expand_as(heads)
    for _ in range(n):
        above = heads.gather(-1, above.clamp_min(0)).where(above > 0, -1)
        met = torch.nn.functional.one_hot(above + 1, n + 1)[..., 1:]  # (trees, clone, ancestor)
        count += met.sum(0).T
    return count / len(heads)


descent = ancestors(samples)
for older, younger in (("B", "G"), ("B", "J"), ("H", "J"), ("C", "B")):
    share = descent[CLONES.index(older), CLONES.index(younger)]
    print(f"{younger} descends from {older} with probability {share:.3f}")

# %% [markdown]
# ## The textbook route
#
# By the matrix-tree theorem the sum over trees is a determinant: of the Laplacian without the
# root's row and column, and, for one edge from the root, with the weights of the root's edges in
# the place of the first row (Koo and others, 2007). The probabilities of edges are then entries of
# the inverse. The same lines serve here for double precision and, with numbers of any length from
# the standard library, as an independent check. Both get what help there is: all weights of a child
# are divided by the largest one, and so are those from the root.


# %%
def textbook_matrix(weights: list, zero: object) -> list[list]:
    """Koo's matrix of ``weights[parent][child]``, without row and column 0."""
    size = len(weights) - 1
    matrix = [
        [-weights[a + 1][b + 1] if a != b else zero for b in range(size)] for a in range(size)
    ]
    for b in range(size):
        matrix[b][b] = sum((weights[a + 1][b + 1] for a in range(size) if a != b), zero)
    matrix[0] = [weights[0][b + 1] for b in range(size)]
    return matrix


def textbook_marginals(weights: list, inverse: list, zero: object) -> list[list]:
    """Probabilities of edges: weights times differences of entries of the inverse."""
    size = len(weights)
    marginals = [[zero] * size for _ in range(size)]
    for b in range(1, size):
        marginals[0][b] = weights[0][b] * inverse[b - 1][0]
        for a in range(1, size):
            if a != b:
                own = inverse[b - 1][b - 1] if b > 1 else zero
                other = inverse[b - 1][a - 1] if a > 1 else zero
                marginals[a][b] = weights[a][b] * (own - other)
    return marginals


def scaled(log_weights: Tensor) -> Tensor:
    """Log-weights less what all trees share: the best of each child, and the best of the root."""
    log_weights = log_weights - log_weights[1:].amax(0)
    log_weights[0] -= log_weights[0, 1:].max()
    log_weights[:, 0] = -torch.inf
    return log_weights.fill_diagonal_(-torch.inf)


def in_double_precision(log_weights: Tensor) -> Tensor:
    """The textbook's probabilities in float64; NaN if LAPACK finds the matrix singular."""
    weights = scaled(log_weights).exp()
    matrix = torch.tensor(textbook_matrix(weights.tolist(), 0.0))
    inverse, singular = torch.linalg.inv_ex(matrix)
    if singular:
        return torch.full_like(weights, torch.nan).where(weights > 0, 0.0)
    return torch.tensor(textbook_marginals(weights.tolist(), inverse.tolist(), 0.0))


def in_decimals(log_weights: Tensor, digits: int) -> Tensor | None:
    """The same with this many decimal digits; None if the matrix is singular even so."""
    zero = Decimal(0)
    rows = scaled(log_weights).tolist()
    with localcontext() as context:
        # Rounded weights do no harm, so that these digits suffice; subtractions need all others.
        context.prec, context.Emin, context.Emax = 50, -(10**9), 10**9
        weights = [[Decimal(x).exp() if x > -torch.inf else zero for x in row] for row in rows]
        context.prec = digits
        inverse = inverted(textbook_matrix(weights, zero))
        if inverse is None:
            return None
        marginals = textbook_marginals(weights, inverse, zero)
        return torch.tensor([[float(p) for p in row] for row in marginals])


def inverted(matrix: list[list[Decimal]]) -> list[list[Decimal]] | None:
    """Gauss-Jordan elimination with row exchanges."""
    size = len(matrix)
    rows = [row + [Decimal(i == k) for k in range(size)] for i, row in enumerate(matrix)]
    for k in range(size):
        pivot = max(range(k, size), key=lambda i: abs(rows[i][k]))
        if not rows[pivot][k]:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]


exact = in_decimals(log_weights, 5000)
double = in_double_precision(log_weights)
assert exact is not None
as_is = torch.tensor(textbook_matrix(log_weights.exp().tolist(), 0.0)).logdet()
impossible = ((double < 0) | (double > 1) | double.isnan()) & edge
plausible_but_wrong = ((double - exact).abs() > 0.01) & ~impossible

print("largest error of a probability")
print(f"  spantree               {(probability - exact).abs().max():.1e}")
print(f"  textbook, as doubles   {(double - exact).abs().max():.1e}")
print(f"    from {double[edge].min():.2g} to {double[edge].max():.2g};", end=" ")
print(
    f"{int(impossible.sum())} negative, above 1 or NaN, {int(plausible_but_wrong.sum())}", end=" "
)
print("plausible and off by more than 0.01")
print(f"  log-determinant of the weights as they are, without scaling: {as_is:.3g}")

# %% [markdown]
# What is impossible gives itself away. What is wrong and looks plausible does not: a parent of
# probability 1 may come out with 0.
#
# More data make it worse: with more loci, the likelihoods of good and bad parents are further
# apart. The textbook route needs some forty times the digits of a double.

# %%
loci_used = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
errors: dict[str, list[float]] = {"spantree": [], "textbook": []}
for loci in loci_used:
    fewer = edge_log_weights(Reads(reads.depth[:, :loci], reads.variant[:, :loci]))
    reference = in_decimals(fewer, 5000)
    assert reference is not None
    for name, got in (
        ("spantree", st.edge_marginals(fewer)),
        ("textbook", in_double_precision(fewer)),
    ):
        error = (got - reference).abs().max()
        errors[name].append(float(error.nan_to_num(nan=torch.inf)))

digits_used = [16, 34, 100, 300, 500, 600, 700, 800, 900, 1000, 2000, 4000]
digit_errors = []
for digits in digits_used:
    got = in_decimals(log_weights, digits)
    digit_errors.append(torch.inf if got is None else float((got - exact).abs().max()))

print(" loci   spantree   textbook")
for row in zip(loci_used, errors["spantree"], errors["textbook"], strict=True):
    print("{:5d}   {:.1e}    {:.1e}".format(*row))
print("textbook with more digits, all loci")
for digits, error in zip(digits_used, digit_errors, strict=True):
    print(f"{digits:5d} digits   error {error:.1e}")

# %% [markdown]
# ## Pictures
#
# Left, the most likely clone tree: edges as thick and dark as they are probable, with what is
# gained and lost along them; less likely parents are dashed. Next to it the probabilities of all
# parents, with true parents framed, and what the determinant makes of them in double precision.


# %%
def layout(heads: list[int]) -> dict[int, tuple[float, float]]:
    """Where to draw the nodes of a tree: leaves side by side, parents above their children."""
    place: dict[int, tuple[float, float]] = {}
    leaves = 0

    def put(node: int, level: int) -> float:
        nonlocal leaves
        children = [child for child in range(1, len(heads)) if heads[child] == node]
        if children:
            x = [put(child, level + 1) for child in children]
            across = (min(x) + max(x)) / 2
        else:
            across, leaves = float(leaves), leaves + 1
        place[node] = (across, -level)
        return across

    put(0, 0)
    return place


def draw_tree(axes, heads: list[int]) -> None:
    """The tree with the certainty of its edges, and other edges that are not unlikely."""
    place = layout(heads)
    carried = torch.cat([torch.zeros(1, reads.depth.shape[1]), reads.variant / reads.depth]) > 0.25
    line = {"arrowstyle": "-|>", "mutation_scale": 11, "shrinkA": 11, "shrinkB": 11}
    for a, b in (probability > 0.05).nonzero().tolist():
        p = float(probability[a, b])
        if heads[b] != a:
            style = {"color": BLUE, "alpha": 0.25 + 0.75 * p, "linestyle": "--", "linewidth": 1.2}
            style["connectionstyle"] = "arc3,rad=0.4"
            axes.annotate("", place[b], place[a], arrowprops=line | style)
            continue
        style = {"color": "black", "alpha": 0.15 + 0.85 * p, "linewidth": 1 + 3 * p}
        axes.annotate("", place[b], place[a], arrowprops=line | style)
        gained = int((carried[b] & ~carried[a]).sum())
        lost = int((carried[a] & ~carried[b]).sum())
        (x0, y0), (x1, y1) = place[a], place[b]
        side = -1 if x1 < x0 else 1
        axes.annotate(
            f"{p:.2f}\n+{gained} −{lost}",
            ((x0 + x1) / 2, (y0 + y1) / 2),
            (18 * side, 10) if x0 != x1 else (9, 0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0, "alpha": 0.8},
            zorder=3,
        )
    for node, (x, y) in place.items():
        axes.scatter(x, y, s=330, color="white", edgecolor="black", zorder=4)
        axes.text(x, y, CLONES[node] if node else "N", ha="center", va="center", zorder=5)
    axes.set_title("Most likely tree (N = normal cell)", loc="left", fontsize=10)
    axes.margins(0.12)
    axes.axis("off")


def draw_parents(axes, table: Tensor, title: str) -> None:
    """Probabilities of parents (rows) of clones (columns); what is impossible in red."""
    colours = plt.matplotlib.colormaps["Blues"].with_extremes(bad="#d62728")
    valid = (table >= 0) & (table <= 1)
    shown = table.where(valid, torch.nan)[:, 1:]
    axes.imshow(shown.numpy(), cmap=colours, vmin=0, vmax=1, aspect="auto")
    for a in range(n):
        for b in range(1, n):
            p = float(table[a, b])
            if a != b and not 0 <= p < 0.005:
                ink = "white" if not 0 <= p <= 0.6 else "black"
                text = f"{p:.2f}" if abs(p) < 10 else f"{p:.0e}"
                axes.text(b - 1, a, text, ha="center", va="center", fontsize=8, color=ink)
    for b in range(1, n):
        frame = {"fill": False, "edgecolor": ORANGE, "linewidth": 1.8}
        axes.add_patch(plt.Rectangle((b - 1.5, PARENTS[b] - 0.5), 1, 1, **frame))
    axes.set_xticks(range(n - 1), CLONES[1:])
    axes.set_yticks(range(n), CLONES)
    axes.set_xlabel("clone")
    axes.set_ylabel("parent")
    axes.set_title(title, loc="left", fontsize=10)


BLUE, ORANGE, GREY = "#2a6db0", "#e07b00", "#888888"
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(14, 5.4), dpi=75, layout="constrained", width_ratios=[0.9, 1, 1]
)
draw_tree(left, trees[0].tolist())
draw_parents(middle, probability, "spantree (true parents framed)")
draw_parents(right, double, "determinant in float64 (impossible: red)")
figure.savefig(OUT / "clone_tree.png")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), dpi=80, layout="constrained")
left.loglog(loci_used, errors["textbook"], "o-", color=ORANGE, label="determinant, float64")
left.loglog(loci_used, errors["spantree"], "o-", color=BLUE, label="spantree, float64")
left.axhline(1, color=GREY, linewidth=0.8)
left.set(xlabel="loci used", ylabel="largest error of a probability")
left.set_yticks([1e-16, 1, 1e50, 1e100, 1e150])
least = [max(error, 1e-17) for error in digit_errors]  # 0, on this axis: agrees as a double
right.loglog(digits_used, least, "o-", color=ORANGE, label="determinant")
right.axhline(1, color=GREY, linewidth=0.8)
right.plot(16, errors["spantree"][-1], "o", color=BLUE, label="spantree")
right.set(xlabel="decimal digits of the arithmetic", ylabel="largest error of a probability")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
figure.savefig(OUT / "clone_tree_errors.png")

# %% [markdown]
# **Sources.** El-Kebir, Oesper, Acheson-Field and Raphael, *Bioinformatics* 31 (2015), on clone
# trees as spanning trees; Govek, Sikes and Oesper, *ACM-BCB* (2018), on consensus clone trees; Koo,
# Globerson, Carreras and Collins, *EMNLP-CoNLL* (2007), on the matrix for a single root.
