// Divide and conquer: from the weights of a graph to g and E, hence to all of G = dlog Z/dw.
//
//     G[i, j] = g[j] * E[i, j]
//
// To solve a set of nodes, split it; eliminate one half, solve the other, put the first back; and
// the same with the halves exchanged. A single node j has g[j] = 1 / w[root, j]. About 1.28 N^3
// multiply-adds in all, none of which subtracts.
//
// Both layouts split in the same places and perform the same operations in the same order on every
// number, so a sentence may be solved in either: the results are the same to the last bit.
#pragma once

#include <algorithm>
#include <atomic>

#include "elimination.hpp"
#include "job.hpp"
#include "threads.hpp"

namespace spantree::SPANTREE_ISA {

// The two factors of G, in cells.
template <class T>
struct Green {
  Grid<T> walks;  // E: rows 0 (root), 1..N; columns 0..N-1
  T* at_root;     // g
};

// One half step, between its elimination and its back-substitution.
template <class T>
struct Half {
  Grid<T> w;
  Index nodes, kept;                // how many
  Index first_kept, first_dropped;  // which, among all nodes of the graph
  Lineage lineage;
};

// Subproblems of this size end the recursion within one graph.
inline constexpr Index kLeaf = 8;

// How many nodes the first half of a subproblem takes.
constexpr Index front_of(Index nodes) {
  return nodes > kLeaf && nodes % kLeaf == 0 ? (nodes / kLeaf + 1) / 2 * kLeaf : (nodes + 1) / 2;
}

// parallel_for that keeps the account of the range of doubles: what leaves it in any thread counts as
// if it had happened in this one.
template <class Body>
void in_parallel(Index count, int threads, Body&& body) {
  if (threads <= 1) {
    for (Index i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<bool> left{left_range()};
  parallel_for(count, threads, [&](Index i) {
    left_range();
    body(i);
    if (left_range()) left = true;
  });
  if (left) std::feraiseexcept(FE_UNDERFLOW);
}

// What both layouts share: half steps, and what is learnt on the way.
template <class Layout, class T>
class Divider {
 public:
  void resume(Wide partition) { partition_ = partition; }

  // Z: the product of the pivots met while the first node of all is kept, and of its weight from
  // the root.
  Wide partition() const { return partition_; }
  Mask dead() const { return dead_; }

 protected:
  Divider(Arena& arena, Green<T> green, bool with_walks, int threads = 1)
      : arena_(arena), green_(green), with_walks_(with_walks), threads_(threads) {}

  // Both halves in turn, each solved by `solve` where it is kept. Log Z needs the first alone.
  template <class Solve>
  void halve(Grid<T> w, Index nodes, Index first, Lineage lineage, Solve&& solve) {
    for (bool keep_front : {true, false}) {
      const auto mark = arena_.mark();
      const Half<T> half = split(w, nodes, first, keep_front, lineage);
      solve(half.w, half.kept, half.first_kept, half.lineage);
      if (with_walks_) join(half);
      arena_.release(mark);
      if (!with_walks_) return;
    }
  }

  // Eliminates one half of a subproblem for the benefit of the other.
  Half<T> split(Grid<T> w, Index nodes, Index first, bool keep_front, Lineage lineage) {
    constexpr Index width = Layout::width;
    const Index front = front_of(nodes);
    const Index kept = keep_front ? front : nodes - front;
    const Index keep_at = keep_front ? 0 : front, drop_at = keep_front ? front : 0;
    const Origin<T> origin{w, kept, keep_at, drop_at - kept};
    // An odd stride keeps the cells of a column from falling on the same few lines of the cache.
    const Index stride = (nodes / width) | 1;
    const Grid<T> reduced{arena_.take<T>((nodes + 1) * stride), stride};
    lineage.collapsed = Mask{};
    const bool leads = first == 0 && keep_front;
    eliminate<Layout>(origin, reduced, nodes, lineage, [&](const T& pivot) {
      if (leads) multiply(widened(Number<T>::value(pivot)));
    });
    by_columns(kept / width, [&](Index cell, Index count) {
      bring_up_to_date<Layout>(origin, reduced, nodes, kept, cell, count, lineage.collapsed);
    });
    dead_ |= lineage.dead;
    return {reduced, nodes, kept, first + keep_at, first + drop_at, lineage};
  }

  void join(const Half<T>& half) {
    constexpr Index width = Layout::width;
    const Index cell = half.first_kept / width;
    const Grid<T>& e = green_.walks;
    const Walks<T> walks{e.row(0) + cell, e.row(1 + half.first_kept) + cell,
                         e.row(1 + half.first_dropped) + cell, e.stride};
    by_columns(half.kept / width, [&](Index first, Index count) {
      back_substitute<Layout>(half.w, half.nodes, half.kept, walks, first, count);
    });
    if (any(half.lineage.collapsed)) [[unlikely]]
      for (Index j = cell; j < cell + half.kept / width; ++j)
        e.cells[j] = select(half.lineage.collapsed, Number<T>::constant(Pack{}), e.cells[j]);
  }

  // The columns of a kept half know nothing of each other.
  template <class Body>
  void by_columns(Index cells, Body&& body) {
    constexpr Index chunk = 4 * Shape<T, Layout>::columns;
    if (threads_ == 1 || cells < 2 * chunk) return body(0, cells);
    in_parallel((cells + chunk - 1) / chunk, threads_, [&](Index i) {
      body(i * chunk, std::min(chunk, cells - i * chunk));
    });
  }

  void multiply(Wide factor) {
    const Wide product = partition_ * factor;
    partition_ = normalised(product.significand, product.exponent);
  }

  Arena& arena_;
  Green<T> green_;
  bool with_walks_;
  int threads_;
  Wide partition_{broadcast(1.0), Pack{}};
  Mask dead_{};
};

}  // namespace spantree::SPANTREE_ISA
