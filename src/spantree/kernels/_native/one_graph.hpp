// The divide and conquer for one large graph, vectorised over its columns, and shared among threads.
#pragma once

#include <algorithm>
#include <vector>

#include "many_graphs.hpp"

namespace spantree::SPANTREE_ISA {

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
    this->halve(w, nodes, first, lineage, [this](auto... half) { solve(half...); });
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
