"""A published parser's real scores: one root, k best, samples and confidence, without failure.

The package natasha (MIT) ships the weights of a graph-based parser for Russian, trained on news.
Its scores are confident, badly scaled and often want several roots, which is what this is about.

    pip install 'spantree[real-scores]'
    python benchmarks/real_scores.py [--treebank ru-test.conllu] [--output FILE.json]
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

import spantree as st

TREEBANK = Path(__file__).resolve().parents[2] / "shared" / "treebanks" / "ru-test.conllu"
SAMPLES, BEST, BATCH = 100, 50, 64


class Sentence(NamedTuple):
    """Words and the gold head of each."""

    words: list[str]
    heads: list[int]


def read_conllu(path: Path) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, syntactic words only."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line[0] != "#"]
        rows = [row for row in rows if row[0].isdigit()]
        yield Sentence([row[1] for row in rows], [int(row[6]) for row in rows])


def natasha_scores(sentences: list[Sentence]) -> list[Tensor]:
    """The parser's scores as log-weights ``(n, n)``, [head, dependent]."""
    try:
        from natasha.emb import NewsEmbedding
        from natasha.syntax import NewsSyntaxParser
    except ImportError as error:
        sys.exit(f"natasha is needed: pip install 'spantree[real-scores]' ({error})")
    infer = NewsSyntaxParser(NewsEmbedding()).infer
    found: list[Tensor] = []
    for batch in infer.encoder([sentence.words for sentence in sentences]):
        # [sentence, dependent, head], the root being head 0.
        predicted = infer.model(batch.word_id, batch.shape_id, batch.pad_mask).head_id
        for scores, padding in zip(torch.from_numpy(predicted), batch.pad_mask, strict=True):
            length = int((~padding).sum())
            log_weights = torch.zeros(length + 1, length + 1, dtype=torch.float64)
            log_weights[:, 1:] = scores[:length, : length + 1].T
            found.append(log_weights)
    return found


class Bucket(NamedTuple):
    """Sentences of about one length, as a user would batch them."""

    log_weights: Tensor
    lengths: Tensor
    gold: Tensor


def buckets(sentences: list[Sentence], matrices: list[Tensor]) -> Iterator[Bucket]:
    """All sentences in order of length."""
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i].words))
    for some in (order[first : first + BATCH] for first in range(0, len(order), BATCH)):
        longest = max(len(matrices[i]) for i in some)
        padded = [pad(matrices[i], (0, longest - len(matrices[i])) * 2) for i in some]
        gold = pad_sequence([torch.tensor([-1, *sentences[i].heads]) for i in some], True, -1)
        yield Bucket(torch.stack(padded), torch.tensor([len(matrices[i]) - 1 for i in some]), gold)


class Tally:
    """Sums over sentences: what is right, how long it took, what is in doubt, what went wrong."""

    def __init__(self) -> None:
        self.sums: Counter[str] = Counter()
        self.trouble: Counter[str] = Counter()
        self.deviation = self.variance = 0.0  # of −log p of samples from the entropy, all together

    def time(self, name: str, run: Callable[[], Any]) -> Any:
        """The result, and the median time of three runs."""
        spent = []
        for _ in range(3):
            start = time.perf_counter()
            result = run()
            spent.append(time.perf_counter() - start)
        self.sums[f"µs a sentence, {name}"] += 1e6 * sorted(spent)[1]
        return result

    def attach(self, name: str, heads: Tensor, gold: Tensor) -> None:
        self.sums[f"attachment, {name}"] += int((heads == gold)[gold >= 0].sum())

    def add(self, name: str, values: Tensor) -> None:
        self.sums[f"mean {name}"] += float(values.sum())

    def wrong(self, name: str, found: Tensor) -> None:
        self.trouble[name] += int(found.sum())

    def report(self, sentences: int, words: int) -> dict[str, float]:
        return {
            name: total / (words if name.startswith("attachment") else sentences)
            for name, total in self.sums.items()
        }


def best_heads(bucket: Bucket) -> Tensor:
    """Every word its best head, tree or not."""
    edges = st.SpanningTree(torch.zeros_like(bucket.log_weights), bucket.lengths).support.present
    heads = bucket.log_weights.where(edges, -torch.inf).argmax(-2)
    return heads.where(bucket.gold >= 0, -1)


def decode(bucket: Bucket, tally: Tally) -> Tensor:
    """Tallies best trees; returns how many children the root of each has if it may have several."""
    single = st.SpanningTree(bucket.log_weights, bucket.lengths)
    multi = st.SpanningTree(bucket.log_weights, bucket.lengths, root="multi")
    tally.attach("every word its best head", best_heads(bucket), bucket.gold)
    several = tally.time("best tree, any number of roots", lambda: multi.mode)
    tally.attach("best tree, any number of roots", several, bucket.gold)
    best = tally.time("best tree, one root", lambda: single.mode)
    tally.attach("best tree, one root", best, bucket.gold)
    marginals = tally.time(
        "log Z and marginals",
        lambda: st.SpanningTree(bucket.log_weights, bucket.lengths).marginals,
    )
    tally.attach("minimum Bayes risk, one root", single.mbr(), bucket.gold)
    tally.wrong("a best tree that is none", ~single.support.check(best))
    tally.wrong("a marginal outside 0..1", ~((marginals >= 0) & (marginals <= 1 + 1e-12)))
    return (several == 0).sum(-1)


def rank_and_sample(bucket: Bucket, tally: Tally) -> None:
    """Tallies k best lists and samples."""
    d = st.SpanningTree(bucket.log_weights, bucket.lengths)
    trees, log_probs = tally.time(f"{BEST} best trees", lambda: d.topk(BEST))
    generator = torch.Generator().manual_seed(0)
    samples = tally.time(f"{SAMPLES} samples", lambda: d.sample((SAMPLES,), generator))
    sampled, entropy = d.log_prob(samples), d.entropy()
    tally.add("probability of the best tree", log_probs[0].exp())
    tally.add(f"mass of the {BEST} best", log_probs.exp().sum(0))
    tally.add("entropy, nats", entropy)
    exists = log_probs > -torch.inf
    tally.wrong("k best out of order", (log_probs[1:] > log_probs[:-1]).any(0))
    tally.wrong("NaN among the k best", log_probs.isnan().any(0))
    distinct = [
        len(trees[:, i][exists[:, i]].unique(dim=0)) == int(exists[:, i].sum())
        for i in range(trees.shape[1])
    ]
    tally.wrong("k best with one tree twice", ~torch.tensor(distinct))
    tally.wrong("a sample that is no tree", ~sampled.isfinite())
    tally.deviation += float((sampled.mean(0) + entropy).sum())
    tally.variance += float(d.covariance(bucket.log_weights).sum()) / SAMPLES


def measure(sentences: list[Sentence], matrices: list[Tensor]) -> tuple[dict[str, float], Tally]:
    """The report on all sentences, and the tally behind it."""
    tally, roots = Tally(), []
    st.best_trees(torch.zeros(3, 3), 2)  # the first call loads what later ones need
    for bucket in buckets(sentences, matrices):
        roots.append(decode(bucket, tally))
        rank_and_sample(bucket, tally)
    # Six standard errors off is no accident, by the exact variances of log p.
    off = abs(tally.deviation) / tally.variance**0.5
    tally.wrong("samples that disagree with the entropy", torch.tensor(off > 6))
    scores = torch.cat([m[:, 1:].flatten() for m in matrices])
    report = {
        "sentences": len(sentences),
        "lowest score": float(scores.min()),
        "highest score": float(scores.max()),
        "best trees with several roots, if allowed": int((torch.cat(roots) > 1).sum()),
        "standard errors from samples to the entropy": off,
    }
    words = sum(len(sentence.words) for sentence in sentences)
    return report | tally.report(len(sentences), words), tally


def main() -> None:
    """Decodes all sentences, and prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebank", type=Path, default=TREEBANK)
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/real_scores.json"))
    options = parser.parse_args()
    if not options.treebank.exists():
        sys.exit(f"no treebank at {options.treebank}: name a CoNLL-U file with --treebank")
    torch.set_num_threads(1)
    sentences = list(read_conllu(options.treebank))
    report, tally = measure(sentences, natasha_scores(sentences))
    for name, value in report.items():
        print(f"{name:48s} {value:12.4f}")
    print()
    for name, found in tally.trouble.items():
        print("FAILED" if found else "met   ", f"never {name}" + f": {found} times" * (found > 0))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({**report, "trouble": tally.trouble}, indent=1))
    sys.exit(any(tally.trouble.values()))


if __name__ == "__main__":
    main()
