// The decoder for one instruction set: one graph after another.

#include "decoder.hpp"

#include "ranking.hpp"

namespace spantree::SPANTREE_ISA {
namespace {

// Scaling by this leaves room for any sum of weights.
constexpr double kScaleOfHuge = 0x1p-64;

class Writer {
 public:
  Writer(const Decoding& job, Index item) : job_(job), item_(item), length_(job.length(item)) {}

  // The next tree: head_of(j) for every node.
  template <class Heads>
  void write(double score, Heads&& head_of) {
    std::int64_t* heads = job_.heads + (rank_ * job_.count + item_) * job_.n;
    heads[0] = -1;
    for (Index j = 1; j <= length_; ++j) heads[j] = head_of(j);
    std::fill(heads + length_ + 1, heads + job_.n, -1);
    if (job_.scores) job_.scores[rank_ * job_.count + item_] = score;
    ++rank_;
  }
  void write_rest() {
    while (rank_ < job_.trees) write(kForbidden, [](Index) { return -1; });
  }

 private:
  const Decoding& job_;
  const Index item_, length_;
  Index rank_ = 0;
};

template <class Real>
Found best_tree(const Graph<Real>& graph, const BestEdges& best, const Decoding& job, double scale,
                Arena& arena, Writer& writer) {
  Columns<Real> columns(graph, arena, scale);
  const auto attempt = [&](bool root_last, Index most_roots) {
    Contraction<Real> contraction(graph, columns, arena, root_last);
    if (!contraction.start(best)) return Found::kNoTree;
    const Found found = contraction.run(most_roots);
    if (found != Found::kTree) return found;
    double score = 0;
    if (job.scores) {
      double* terms = arena.take<double>(graph.length);
      for (Node j = 1; j <= graph.length; ++j)
        terms[j - 1] = graph.weight(contraction.entered(j).head, j);
      score = rounded_sum(terms, graph.length);
    }
    writer.write(score, [&](Index j) { return contraction.entered(static_cast<Node>(j)).head; });
    return found;
  };
  if (!job.single_root) return attempt(false, graph.length);
  // Often the best of all trees has one root already.
  const Found found = attempt(false, 1);
  if (found != Found::kManyRoots) return found;
  const Found constrained = attempt(true, 1);
  return constrained == Found::kManyRoots ? Found::kNoTree : constrained;
}

template <class Real>
Found best_trees(const Graph<Real>& graph, const BestEdges& best, const Decoding& job, double scale,
                 Arena& arena, Writer& writer) {
  Ranking<Real> ranking(graph, best, job.single_root, scale, arena);
  if (ranking.found_huge() && scale == 1.0) return Found::kHuge;
  const bool exists = ranking.run(job.trees, [&](const Node* heads, double score) {
    writer.write(score, [&](Index j) { return heads[j]; });
  });
  return exists ? Found::kTree : Found::kNoTree;
}

template <class Real>
Status solve(const Decoding& job, Index item, Arena& arena, Writer& writer) {
  const Graph<Real> graph(job, item);
  BestEdges best(arena, graph.length);
  if (!scan(graph, best)) return kNotANumber;
  const auto mark = arena.mark();
  const auto find = job.trees == 1 ? best_tree<Real> : best_trees<Real>;
  Found found = find(graph, best, job, 1.0, arena, writer);
  if (found == Found::kHuge) {
    arena.release(mark);
    found = find(graph, best, job, kScaleOfHuge, arena, writer);
  }
  return found == Found::kTree ? kFine : kNoTree;
}

}  // namespace

void decode(const Decoding& job, Index item, Arena& arena) {
  Writer writer(job, item);
  job.status[item] = job.real_bytes == 4 ? solve<float>(job, item, arena, writer)
                                         : solve<double>(job, item, arena, writer);
  writer.write_rest();
  arena.trim();
}

}  // namespace spantree::SPANTREE_ISA
