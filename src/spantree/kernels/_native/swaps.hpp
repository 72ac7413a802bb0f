// The second best tree: which edge to take into the best one.
//
// Contraction leaves a score y for every component, and for a tree T'
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
#include <cmath>
#include <limits>
#include <vector>

#include "contraction.hpp"

namespace spantree::SPANTREE_ISA {

// An edge that may come in, and what it costs.
struct Swap {
  Edge edge;
  double loss;
};

// One tree's at a time.
template <class Real>
class Swaps {
 public:
  Swaps(Index size, Index packs, bool single_root, Arena& arena)
      : size_(size), packs_(packs), single_root_(single_root), order_(arena.take<Node>(size_)),
        begin_(arena.take<Index>(size_)), end_(arena.take<Index>(size_)),
        first_child_(arena.take<Node>(size_)), sibling_(arena.take<Node>(size_)),
        source_(arena.take<Node>(size_)), outside_(arena.take<Node>(size_)),
        entrance_(arena.take<Node>(2 * size_)), total_(arena.take<double>(2 * size_)),
        sums_(arena.take<double>(packs * kLanes)) {
    std::fill_n(sums_, packs * kLanes, -kForbidden);
  }

  // Gathers the swaps that may be the best: those whose computed loss is close to the least.
  const std::vector<Swap>& find(const Contraction<Real>& contraction, Columns<Real>& columns,
                                const Node* heads) {
    constexpr double kLargest = std::numeric_limits<double>::max();
    number_in_preorder(heads);
    std::copy_n(heads, size_, source_);
    const double margin = sum_scores(contraction);
    swaps_.clear();
    double least = kLargest, limit = kLargest;
    for (Node j = 1; j < size_; ++j) {
      sum_around(heads, j);
      if (single_root_ && contraction.component(contraction.outermost(j)).in.head != 0)
        sums_[0] = -kForbidden;
      const double* column = columns[j];
      for (Index at = 0; at < packs_ * kLanes; at += kLanes) {
        const Pack losses = load(sums_ + at) - load(column + at);
        if (!any(losses <= limit)) continue;
        for (int lane = 0; lane < kLanes; ++lane) {
          const double loss = losses[lane];
          if (!(loss <= limit)) continue;
          swaps_.push_back({{static_cast<Node>(at + lane), j}, loss});
          if (loss < least) {
            least = loss;
            limit = std::min(kLargest, loss + (margin + 4 * kUnit * std::fabs(loss)));
          }
        }
      }
    }
    std::erase_if(swaps_, [&](const Swap& swap) { return swap.loss > limit; });
    return swaps_;
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

 private:
  static constexpr double kUnit = 0x1p-52;

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

  const Index size_, packs_;
  const bool single_root_;
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
  std::vector<Swap> swaps_;
};

}  // namespace spantree::SPANTREE_ISA
