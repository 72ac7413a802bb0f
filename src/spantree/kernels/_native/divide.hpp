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

// Several graphs of one size side by side.
template <class T>
class ManyGraphs : public Divider<Across, T> {
 public:
  ManyGraphs(Arena& arena, Green<T> green, bool with_walks)
      : Divider<Across, T>(arena, green, with_walks) {}

  void solve(Grid<T> w, Index nodes, Index first, Lineage lineage) {
    if (nodes == 1) return leaf(w.cells[0], first);
    if (nodes == 2 && solve_pair(w, first, lineage)) return;
    for (bool keep_front : {true, false}) {
      const auto mark = this->arena_.mark();
      const Half<T> half = this->split(w, nodes, first, keep_front, lineage);
      solve(half.w, half.kept, half.first_kept, half.lineage);
      if (this->with_walks_) this->join(half);
      this->arena_.release(mark);
      if (!this->with_walks_) return;
    }
  }

 private:
  // Two nodes by hand, which is what the recursion mostly meets: the same operations, without the
  // copies. Leaves all that is not usual to the general way.
  bool solve_pair(Grid<T> w, Index first, Lineage lineage) {
    const T zero = Number<T>::constant(Pack{});
    T pivot[2], weight[2], walk[2];
    for (int a : {0, 1}) {
      const int b = 1 - a;
      const T root = w.cells[b], head = w.row(1 + a)[b];
      pivot[a] = head + select(lineage.root_counts, root, zero);
      walk[a] = root * reciprocal(pivot[a]);
      weight[a] = fma(walk[a], w.row(1 + b)[a], w.cells[a]);
    }
    if (any(is_zero(pivot[0]) | is_zero(pivot[1]))) [[unlikely]] return false;
    if (first == 0) this->multiply(widened(Number<T>::value(pivot[0])));
    leaf(weight[0], first);
    if (!this->with_walks_) return true;
    leaf(weight[1], first + 1);
    this->green_.walks.row(2 + first)[first] = walk[0];
    this->green_.walks.row(1 + first)[first + 1] = walk[1];
    return true;
  }

  void leaf(T weight, Index node) {
    const T one = Number<T>::constant(broadcast(1.0));
    const Mask none = is_zero(weight);
    this->dead_ |= none;
    weight = select(none, one, weight);
    if (node == 0) this->multiply(widened(Number<T>::value(weight)));
    if (!this->with_walks_) return;
    this->green_.at_root[node] = reciprocal(weight);
    this->green_.walks.row(0)[node] = one;
    this->green_.walks.row(1 + node)[node] = Number<T>::constant(Pack{});
  }
};

// One large graph, several columns a cell. The recursion ends at subproblems of kLeaf nodes; eight
// of these at a time are solved side by side, as if they were graphs of their own.
template <class T>
class OneGraph : public Divider<Within, T> {
 public:
  OneGraph(Arena& arena, Green<T> green, bool with_walks, int threads)
      : Divider<Within, T>(arena, green, with_walks, threads) {}

  void solve(Grid<T> w, Index nodes, Index first, Lineage lineage) {
    if (nodes <= kLeaf * kLeaves) return solve_bottom(w, nodes, first, lineage);
    if (this->threads_ > 1 && this->with_walks_) return solve_halves(w, nodes, first, lineage);
    for (bool keep_front : {true, false}) {
      const auto mark = this->arena_.mark();
      const Half<T> half = this->split(w, nodes, first, keep_front, lineage);
      solve(half.w, half.kept, half.first_kept, half.lineage);
      if (this->with_walks_) this->join(half);
      this->arena_.release(mark);
      if (!this->with_walks_) return;
    }
  }

 private:
  static constexpr Index kLeaves = 8, kLeafCells = (kLeaf + 1) * kLeaf;

  // The two halves know nothing of each other either.
  void solve_halves(Grid<T> w, Index nodes, Index first, Lineage lineage) {
    Wide partition = this->partition_;
    Mask dead[2];
    in_parallel(2, this->threads_, [&](Index i) {
      const bool keep_front = i == 0;
      Arena& arena = local_arena();
      const auto mark = arena.mark();
      OneGraph part(arena, this->green_, true, this->threads_ - this->threads_ / 2);
      part.resume(this->partition_);
      const Half<T> half = part.split(w, nodes, first, keep_front, lineage);
      part.solve(half.w, half.kept, half.first_kept, half.lineage);
      part.join(half);
      if (keep_front) partition = part.partition_;
      dead[i] = part.dead_;
      arena.release(mark);
    });
    this->partition_ = partition;
    this->dead_ |= dead[0] | dead[1];
  }

  struct Bottom {
    std::vector<Half<T>> halves;
    T* leaves;  // packs of leaves, each leaf a lane
    Mask root_counts[kLeaves] = {}, dead[kLeaves] = {};
    Index first;
  };

  void solve_bottom(Grid<T> w, Index nodes, Index first, Lineage lineage) {
    const auto mark = this->arena_.mark();
    const Index count = this->with_walks_ ? nodes / kLeaf : 1;
    const Index packs = (count + kLanes - 1) / kLanes;
    Bottom bottom;
    bottom.first = first;
    bottom.leaves = this->arena_.template take<T>(packs * kLeafCells);
    // Idle lanes hold ones: any graph that has a tree will do.
    std::fill_n(bottom.leaves, packs * kLeafCells, Number<T>::constant(broadcast(1.0)));
    descend(bottom, w, nodes, first, lineage);
    for (Index pack = 0; pack < packs; ++pack)
      solve_leaves(bottom, pack, std::min<Index>(count - pack * kLanes, kLanes));
    if (this->with_walks_)
      for (auto half = bottom.halves.rbegin(); half != bottom.halves.rend(); ++half)
        this->join(*half);
    this->arena_.release(mark);
  }

  void descend(Bottom& bottom, Grid<T> w, Index nodes, Index first, Lineage lineage) {
    if (nodes == kLeaf) return put_leaf(bottom, w, (first - bottom.first) / kLeaf, lineage);
    for (bool keep_front : {true, false}) {
      const Half<T> half = this->split(w, nodes, first, keep_front, lineage);
      bottom.halves.push_back(half);
      descend(bottom, half.w, half.kept, half.first_kept, half.lineage);
      if (!this->with_walks_) return;
    }
  }

  // The doubles of column j of a row of cells, plane by plane.
  static double* at(T* row, Index j, int plane) {
    return reinterpret_cast<double*>(row + j / kLanes) + plane * kLanes + j % kLanes;
  }
  static double* at_leaf(T* cells, Index cell, Index lane, int plane) {
    return reinterpret_cast<double*>(cells + cell) + plane * kLanes + lane;
  }

  void put_leaf(Bottom& bottom, Grid<T> w, Index leaf, Lineage lineage) {
    const Index pack = leaf / kLanes, lane = leaf % kLanes;
    T* cells = bottom.leaves + pack * kLeafCells;
    bottom.root_counts[pack][lane] = lineage.root_counts[0];
    for (Index i = 0; i <= kLeaf; ++i)
      for (Index j = 0; j < kLeaf; ++j)
        for (int p = 0; p < kPlanes<T>; ++p)
          *at_leaf(cells, i * kLeaf + j, lane, p) = *at(w.row(i), j, p);
  }

  void solve_leaves(Bottom& bottom, Index pack, Index count) {
    const auto mark = this->arena_.mark();
    T* walks = this->arena_.template take<T>(kLeafCells);
    T at_root[kLeaf];
    ManyGraphs<T> graphs(this->arena_, Green<T>{{walks, kLeaf}, at_root}, this->with_walks_);
    const bool leads = bottom.first == 0 && pack == 0;
    if (leads) graphs.resume(this->partition_);
    graphs.solve({bottom.leaves + pack * kLeafCells, kLeaf}, kLeaf, 0,
                 Lineage{bottom.root_counts[pack]});
    const Wide partition = graphs.partition();
    if (leads) this->resume(lane_of(&partition, 0));
    for (Index lane = 0; lane < count; ++lane) {
      const Index node = bottom.first + (pack * kLanes + lane) * kLeaf;
      this->dead_ |= Mask{} + graphs.dead()[lane];
      if (this->with_walks_) take_leaf(walks, at_root, lane, node);
    }
    this->arena_.release(mark);
  }

  void take_leaf(T* walks, T* at_root, Index lane, Index node) {
    const Grid<T>& e = this->green_.walks;
    for (Index j = 0; j < kLeaf; ++j)
      for (int p = 0; p < kPlanes<T>; ++p) {
        *at(this->green_.at_root, node + j, p) = *at_leaf(at_root, j, lane, p);
        *at(e.row(0), node + j, p) = *at_leaf(walks, j, lane, p);
        for (Index i = 0; i < kLeaf; ++i)
          *at(e.row(1 + node + i), node + j, p) = *at_leaf(walks, (1 + i) * kLeaf + j, lane, p);
      }
  }
};

}  // namespace spantree::SPANTREE_ISA
