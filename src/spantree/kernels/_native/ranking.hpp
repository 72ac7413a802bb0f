// The k best trees in order (Camerini, Fratta and Maffioli 1980), each further one in O(N²).
//
// A set of trees is given by edges that its trees must have and edges that they must not have. From
// each set on the table we know the best tree T and the second best T', which lacks some edge e of T.
// The best T' of all is the next tree; its set is split into the trees with e, the best of which is
// T, and those without, the best of which is T'; and the second best of both halves are looked for.
//
// The second best. Contraction leaves a score y for every component, and for a tree T'
//
//     w(T) - w(T') = Σ loss(e) over its edges + Σ |y(C)| (how often T' enters C, less 1) over cycles C.
//
// Let f = i -> j be an edge outside T, and v a component around j but not i, which T enters by v's own
// best edge. If i does not hang below v in T, then entering v by f instead, with the best tree inside
// for that entrance, gives another tree, worse by the sum of y over the components around j up to v,
// less w(f). Some second best tree is of this kind: if no node is in a cycle, a tree T' that differs
// from T in the heads of the nodes D has a v in D whose new head is not below v in T, or T' would hold
// a cycle; replacing this head alone loses no more. If there is a cycle, T' either keeps all but one
// of its edges and is a tree of the contracted graph; or putting back all but one of them, the top one
// in T', gives a better such tree: some T'' other than T, or T itself, and then the previous argument
// holds for the nodes whose edges were put back. So it takes one look at every edge. Larger v are
// better, because y(C) <= 0; the largest is the last component around j that is entered below the
// lowest common ancestor of i and j in T.
//
// One edge from the root (see contraction.hpp): one component V is entered from the root, and no edge
// but those of the root leads into it. Another edge of the root can only be exchanged for V's.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "contraction.hpp"

namespace spantree::SPANTREE_ISA {

template <class Real>
class Ranking {
 public:
  Ranking(const Graph<Real>& graph, const BestEdges& best, bool single_root, double scale,
          Arena& arena)
      : graph_(graph), best_(best), arena_(arena), single_root_(single_root),
        columns_(graph, arena, scale), size_(graph.length + 1), order_(arena.take<Node>(size_)),
        begin_(arena.take<Index>(size_)), end_(arena.take<Index>(size_)),
        first_child_(arena.take<Node>(size_)), sibling_(arena.take<Node>(size_)),
        source_(arena.take<Node>(size_)), outside_(arena.take<Node>(size_)),
        entrance_(arena.take<Node>(2 * size_)), total_(arena.take<double>(2 * size_)), sums_(arena.take<double>(columns_.packs * kLanes)) {
    std::fill_n(sums_, columns_.packs * kLanes, -kForbidden);
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
  static constexpr double kUnit = 0x1p-52;

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
  // An edge that may come in, and what it costs.
  struct Swap {
    Edge edge;
    double loss;
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
    number_in_preorder(heads(tree));
    std::copy_n(heads(tree), size_, source_);
    find_swaps(contraction, heads(tree));
    best_changes_.clear();
    Edge lost{};
    for (const Swap& swap : swaps_) {
      if (swap.loss > limit_) continue;
      const Node component = component_around(contraction, swap.edge);
      changes_ = contraction.exchange(component, swap.edge);
      if (swaps_.size() > 1) std::sort(changes_.begin(), changes_.end(), by_dependent);
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

  // The nodes below j, itself among them, are order_[begin_[j]..end_[j]-1].
  void number_in_preorder(const Node* heads) {
    std::fill_n(first_child_, size_, 0);
    for (Node j = static_cast<Node>(size_) - 1; j > 0; --j) {
      sibling_[j] = first_child_[heads[j]];
      first_child_[heads[j]] = j;
    }
    Index place = 0;
    for (Node j = 0;;) {
      begin_[j] = place;
      order_[place++] = j;
      if (first_child_[j]) {
        j = first_child_[j];
        continue;
      }
      end_[j] = place;
      while (j && !sibling_[j]) j = heads[j], end_[j] = place;
      if (!j) return;
      j = sibling_[j];
    }
  }

  // Gathers the swaps that may be the best: those whose computed loss is close to the least.
  void find_swaps(const Contraction<Real>& contraction, const Node* heads) {
    constexpr double kLargest = std::numeric_limits<double>::max();
    const double margin = sum_scores(contraction);
    swaps_.clear();
    least_loss_ = limit_ = kLargest;
    for (Node j = 1; j < size_; ++j) {
      sum_around(heads, j);
      if (single_root_ && contraction.component(contraction.outermost(j)).in.head != 0)
        sums_[0] = -kForbidden;
      const double* column = columns_[j];
      for (Index at = 0; at < columns_.packs * kLanes; at += kLanes) {
        const Pack losses = load(sums_ + at) - load(column + at);
        if (!any(losses <= limit_)) continue;
        for (int lane = 0; lane < kLanes; ++lane) {
          const double loss = losses[lane];
          if (!(loss <= limit_)) continue;
          swaps_.push_back({{static_cast<Node>(at + lane), j}, loss});
          if (loss < least_loss_) {
            least_loss_ = loss;
            limit_ = std::min(kLargest, loss + (margin + 4 * kUnit * std::fabs(loss)));
          }
        }
      }
    }
  }

  // Prepares sums of the scores of nested components; returns what bounds the error of a difference
  // of two losses, but for a multiple of themselves.
  double sum_scores(const Contraction<Real>& contraction) {
    double reach = 0, depth = 0;
    total_[0] = 0, entrance_[0] = -1;
    for (Node c = contraction.count(); c > 0; --c) {
      const Component& x = contraction.component(c);
      total_[c] = x.score + total_[x.parent];
      entrance_[c] = contraction.entered(c).dependent;
      if (x.parent) continue;
      reach = std::max(reach, x.reach + std::fabs(x.score));
      depth = std::max(depth, x.depth + 1);
    }
    for (Node c = 1; c <= contraction.count(); ++c)
      outside_[entrance_[c]] = contraction.component(c).parent;  // the outermost has the last word
    return 2 * (contraction.drift() + 2 * kUnit * (depth + 1) * reach + contraction.least());
  }

  // For an edge into j, by its head: the sum of the scores of the components around j that it can
  // enter in the place of the tree's own edge; infinite where there is none. Heads that are not above
  // j have the sum of the node that they hang from.
  void sum_around(const Node* heads, Node j) {
    Node c = j;  // the innermost component around j that is not entered below x
    sums_[j] = -kForbidden;
    source_[j] = j;
    for (Node x = j; x != 0;) {
      if (entrance_[c] == x) c = outside_[x];
      x = heads[x];
      sums_[x] = total_[j] - total_[c];
      source_[x] = x;
    }
    for (Index at = 1; at < size_; ++at) sums_[order_[at]] = sums_[source_[order_[at]]];
    for (Node x = j; x != 0; x = heads[x]) source_[x] = heads[x];
    sums_[heads[j]] = -kForbidden;
  }

  // The largest component that an edge can enter in the place of the tree's own edge.
  Node component_around(const Contraction<Real>& contraction, Edge edge) const {
    const Index place = begin_[edge.head];
    Node found = 0;
    for (Node c = edge.dependent; c; c = contraction.component(c).parent) {
      const Node top = entrance_[c];
      if (begin_[top] <= place && place < end_[top]) break;  // the head hangs below it
      found = c;
    }
    return found;
  }

  const Graph<Real>& graph_;
  const BestEdges& best_;
  Arena& arena_;
  const bool single_root_;
  Columns<Real> columns_;
  const Index size_;
  Node* const order_;
  Index* const begin_;
  Index* const end_;
  Node* const first_child_;
  Node* const sibling_;
  Node* const source_;
  Node* const outside_;   // of every node x, what is around the components that are entered at x
  Node* const entrance_;  // of every component, where the tree enters it
  double* const total_;   // of every component, the scores of it and those around it
  double* const sums_;
  std::vector<Node> heads_;     // of all trees on the table, size_ each
  std::vector<double> scores_;  // theirs, rounded
  std::vector<Restriction> restrictions_;
  std::vector<Replaced> replaced_;
  std::vector<Swap> swaps_;
  std::vector<Difference> changes_, best_changes_;  // of a swap
  double least_loss_ = 0, limit_ = 0;
  std::vector<double> terms_;
};

}  // namespace spantree::SPANTREE_ISA
