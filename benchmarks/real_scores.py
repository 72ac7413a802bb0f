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
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

import spantree as st

TREEBANK = Path(__file__).resolve().parents[2] / "shared" / "treebanks" / "ru-test.conllu"
SAMPLES, BEST = 100, 50


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


def ragged(matrices: list[Tensor]) -> tuple[Tensor, Tensor]:
    """One batch of matrices, and their lengths."""
    lengths = torch.tensor([len(m) - 1 for m in matrices])
    n = int(lengths.max()) + 1
    padded = [torch.nn.functional.pad(m, (0, n - len(m), 0, n - len(m))) for m in matrices]
    return torch.stack(padded), lengths


def attachment(heads: Tensor, gold: Tensor) -> float:
    """The share of words with the gold head."""
    real = gold >= 0
    return float((heads[:, 1:] == gold)[real].double().mean())


def timed(report: dict[str, float], name: str, sentences: int):
    """Adds microseconds a sentence to the report."""

    class Clock:
        def __enter__(self) -> None:
            self.start = time.perf_counter()

        def __exit__(self, *_: object) -> None:
            report[f"µs a sentence, {name}"] = 1e6 * (time.perf_counter() - self.start) / sentences

    return Clock()


def main() -> None:
    """Decodes all sentences, and prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--treebank", type=Path, default=TREEBANK)
    parser.add_argument("--output", type=Path, default=Path("out/benchmarks/real_scores.json"))
    options = parser.parse_args()
    if not options.treebank.exists():
        sys.exit(f"no treebank at {options.treebank}: name a CoNLL-U file with --treebank")
    sentences = list(read_conllu(options.treebank))
    matrices = natasha_scores(sentences)
    log_weights, lengths = ragged(matrices)
    gold = pad_sequence([torch.tensor(s.heads) for s in sentences], True, -1)
    count = len(sentences)
    scores = torch.cat([m[:, 1:].flatten() for m in matrices])
    report: dict[str, float] = {
        "sentences": count,
        "lowest score": float(scores.min()),
        "highest score": float(scores.max()),
    }
    single = st.SpanningTree(log_weights, lengths)
    multi = st.SpanningTree(log_weights, lengths, root="multi")
    greedy = torch.where(torch.eye(log_weights.shape[-1]).bool(), -torch.inf, log_weights)
    for item, length in enumerate(lengths):
        greedy[item, length + 1 :] = -torch.inf
    report["attachment, every word its best head"] = attachment(greedy.argmax(-2), gold)
    with timed(report, "best tree, any number of roots", count):
        many_roots = multi.mode
    with timed(report, "best tree, one root", count):
        best = single.mode
    report["best trees with several roots, if allowed"] = int(((many_roots == 0).sum(-1) > 1).sum())
    report["attachment, any number of roots"] = attachment(many_roots, gold)
    report["attachment, one root"] = attachment(best, gold)
    with timed(report, "log Z and marginals", count):
        marginals = single.marginals
    report["attachment, minimum Bayes risk"] = attachment(single.mbr(), gold)
    with timed(report, f"{BEST} best trees", count):
        trees, log_probs = single.topk(BEST)
    with timed(report, f"{SAMPLES} samples", count):
        samples = single.sample((SAMPLES,), torch.Generator().manual_seed(0))
    sampled = st.SpanningTree(log_weights, lengths).log_prob(samples)
    report["mean probability of the best tree"] = float(log_probs[0].exp().mean())
    report["mean mass of the k best"] = float(log_probs.exp().sum(0).mean())
    report["mean entropy, nats"] = float(single.entropy().mean())
    trouble = {
        "NaN or out of order among the k best": bool((log_probs.diff(dim=0) > 0).any()),
        "a best tree that is none": not bool(single.support.check(best).all()),
        "a sample that is no tree": not bool(sampled.isfinite().all()),
        "a marginal outside 0..1": not bool(((marginals >= 0) & (marginals <= 1 + 1e-12)).all()),
        "samples that disagree with the entropy": bool(
            ((-sampled.mean(0) - single.entropy()).abs() > 1.0).double().mean() > 0.01
        ),
        "k best with the same tree twice": any(
            len(torch.unique(trees[:, i][log_probs[:, i].isfinite()], dim=0))
            < int(log_probs[:, i].isfinite().sum())
            for i in range(count)
        ),
    }
    for name, value in report.items():
        print(f"{name:45s} {value:12.4f}")
    for name, found in trouble.items():
        print("FAILED" if found else "never ", name)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({**report, "trouble": trouble}, indent=1))
    sys.exit(any(trouble.values()))


if __name__ == "__main__":
    main()
