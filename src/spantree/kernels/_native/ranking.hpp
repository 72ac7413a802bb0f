// The k best trees in order (Camerini, Fratta and Maffioli 1980), each further one in O(N²).
//
// A set of trees is given by edges that its trees must have and edges that they must not have. From
// each set on the table we know the best tree T and the second best T', which lacks some edge e of T.
// The best T' of all is the next tree; its set is split into the trees with e, the best of which is
// T, and those without, the best of which is T'; and the second best of both halves are looked for
// (swaps.hpp).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "swaps.hpp"

namespace spantree::SPANTREE_ISA {

template <class Real>
class Ranking {
 public:
  Ranking(const Graph<Real>& graph, const BestEdges& best, bool single_root, double scale,
          Arena& arena)
      : graph_(graph), best_(best), arena_(arena), single_root_(single_root),
        columns_(graph, arena, scale), size_(graph.length + 1),
        swaps_(size_, columns_.packs, single_root, arena) {
    for (Index j = 1; j < size_; ++j) columns_[j];
  }

  bool found_huge() const { return columns_.found_huge(); }

  // Calls write(heads, score) for up to `count` trees, best first; false if there is none.
  template <class Write>
  bool run(Index count, Write&& write) {
    const Index first = new_tree();
    Contraction<Real> contraction(graph_, columns_, arena_, single_root_);
    if (!contraction.start(best_) || contraction.run(most_roots()) != Found::kTree) return false;
    for (Node j = 1; j < size_; ++j) heads(first)[j] = contraction.entered(j).head;
    scores_[first] = score(first);
    write(heads(first), scores_[first]);
    const auto worse = [&](const Split& a, const Split& b) { return precedes(b.second, a.second); };
    std::vector<Split> table;
    const auto add = [&](std::optional<Split> split) {
      if (!split) return;
      table.push_back(*split);
      std::push_heap(table.begin(), table.end(), worse);
    };
    if (count > 1) add(second(contraction, first, kEverything));
    for (Index rank = 1; rank < count && !table.empty(); ++rank) {
      std::pop_heap(table.begin(), table.end(), worse);
      const Split best = table.back();
      table.pop_back();
      write(heads(best.second), scores_[best.second]);
      if (rank + 1 == count) break;
      add(second_within(best.first, restrict(best.set, best.edge, true)));
      add(second_within(best.second, restrict(best.set, best.edge, false)));
    }
    return true;
  }

 private:
  static constexpr Index kEverything = -1;

  // A set of trees is its last restriction and those before it.
  struct Restriction {
    Index previous;
    Edge edge;
    bool required;  // or else forbidden
  };
  // A set, its two best trees, and an edge that only the first has.
  struct Split {
    Index set, first, second;
    Edge edge;
  };

  Index most_roots() const { return single_root_ ? 1 : graph_.length; }

  Index new_tree() {
    const Index tree = static_cast<Index>(scores_.size());
    scores_.push_back(0);
    heads_.resize(heads_.size() + size_, -1);
    return tree;
  }
  Node* heads(Index tree) { return heads_.data() + tree * size_; }

  double score(Index tree) {
    terms_.clear();
    for (Index j = 1; j < size_; ++j) terms_.push_back(graph_.weight(heads(tree)[j], j));
    return rounded_sum(terms_.data(), size_ - 1);
  }

  // The order of trees. Rounding is monotone, so only trees of the same rounded score are added up.
  bool precedes(Index a, Index b) {
    if (scores_[a] != scores_[b]) return scores_[a] > scores_[b];
    terms_.clear();
    Index first_difference = 0;
    for (Index j = size_ - 1; j > 0; --j)
      if (heads(a)[j] != heads(b)[j]) {
        terms_.push_back(graph_.weight(heads(a)[j], j));
        terms_.push_back(-graph_.weight(heads(b)[j], j));
        first_difference = j;
      }
    const int sign = sign_of_sum(terms_.data(), static_cast<Index>(terms_.size()));
    return sign ? sign > 0 : heads(a)[first_difference] < heads(b)[first_difference];
  }

  Index restrict(Index set, Edge edge, bool required) {
    restrictions_.push_back({set, edge, required});
    return static_cast<Index>(restrictions_.size()) - 1;
  }

  // The second best tree of a set whose best is known.
  std::optional<Split> second_within(Index tree, Index set) {
    const auto mark = arena_.mark();
    const Index size = columns_.packs * kLanes;
    replaced_.clear();
    for (Index r = set; r != kEverything; r = restrictions_[r].previous) {
      const auto [previous, edge, required] = restrictions_[r];
      double*& column = column_in_place_of(edge.dependent, size);
      const double kept = column[edge.head];
      if (required) std::fill_n(column, size, kForbidden);
      column[edge.head] = required ? kept : kForbidden;
    }
    Contraction<Real> contraction(graph_, columns_, arena_, single_root_);
    contraction.start(best_);
    bool exists = true;
    for (const auto& [node, column, original] : replaced_) exists = exists && contraction.choose(node);
    exists = exists && contraction.run(most_roots()) == Found::kTree;
    const auto result = exists ? second(contraction, tree, set) : std::nullopt;
    for (const auto& [node, column, original] : replaced_) columns_.replace(node, original);
    arena_.release(mark);
    return result;
  }

  struct Replaced {
    Node node;
    double* column;
    const double* original;
  };
  double*& column_in_place_of(Node node, Index size) {
    for (Replaced& r : replaced_)
      if (r.node == node) return r.column;
    const double* original = columns_[node];
    double* column = arena_.take<double>(size);
    std::copy_n(original, size, column);
    columns_.replace(node, column);
    return replaced_.emplace_back(Replaced{node, column, original}).column;
  }

  std::optional<Split> second(Contraction<Real>& contraction, Index tree, Index set) {
    const std::vector<Swap>& swaps = swaps_.find(contraction, columns_, heads(tree));
    best_changes_.clear();
    Edge lost{};
    for (const Swap& swap : swaps) {
      const Node component = swaps_.component_around(contraction, swap.edge);
      changes_ = contraction.exchange(component, swap.edge);
      if (swaps.size() > 1) std::sort(changes_.begin(), changes_.end(), by_dependent);
      if (!best_changes_.empty() && !changes_precede()) continue;
      std::swap(changes_, best_changes_);
      lost = contraction.entered(component);
    }
    if (best_changes_.empty()) return std::nullopt;
    const Index other = new_tree();
    std::copy_n(heads(tree), size_, heads(other));
    for (const Difference& d : best_changes_) heads(other)[d.dependent] = d.first;
    scores_[other] = score(other);
    return Split{set, tree, other, lost};
  }

  // Whether the changes at hand make a better tree than the best so far, both in order of nodes.
  bool changes_precede() {
    terms_.clear();
    int order = 0;
    for (auto a = changes_.begin(), b = best_changes_.begin();;) {
      const bool more_a = a != changes_.end(), more_b = b != best_changes_.end();
      if (!more_a && !more_b) break;
      const bool at_a = more_a && (!more_b || a->dependent <= b->dependent);
      const bool at_b = more_b && (!more_a || b->dependent <= a->dependent);
      const Node j = at_a ? a->dependent : b->dependent;
      const Node here = at_a ? a->first : b->second, there = at_b ? b->first : a->second;
      if (here != there) {
        terms_.push_back(graph_.weight(here, j));
        terms_.push_back(-graph_.weight(there, j));
        if (order == 0) order = here < there ? 1 : -1;
      }
      if (at_a) ++a;
      if (at_b) ++b;
    }
    const int sign = sign_of_sum(terms_.data(), static_cast<Index>(terms_.size()));
    return sign ? sign > 0 : order > 0;
  }
  static bool by_dependent(const Difference& a, const Difference& b) {
    return a.dependent < b.dependent;
  }

  const Graph<Real>& graph_;
  const BestEdges& best_;
  Arena& arena_;
  const bool single_root_;
  Columns<Real> columns_;
  const Index size_;
  Swaps<Real> swaps_;
  std::vector<Node> heads_;     // of all trees on the table, size_ each
  std::vector<double> scores_;  // theirs, rounded
  std::vector<Restriction> restrictions_;
  std::vector<Replaced> replaced_;
  std::vector<Difference> changes_, best_changes_;  // of a swap
  std::vector<double> terms_;
};

}  // namespace spantree::SPANTREE_ISA
