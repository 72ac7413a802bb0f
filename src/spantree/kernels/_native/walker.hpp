// Wilson's algorithm: from every node walk from head to head until the tree grown so far, and keep of
// the walk what is left when its loops are erased.
#pragma once

#include "alias.hpp"
#include "sampling.hpp"

namespace spantree::SPANTREE_ISA {

// The alias tables of all columns of a graph, and trees drawn with them. In a single-root distribution
// the walks end in the root's child, wherever that may be, so the tables hold no edge from the root.
class Walker {
 public:
  Walker(const SamplingJob& job, Index item, Arena& arena)
      : nodes_(job.length(item)), first_(job.single_root), size_(nodes_ + 1 - first_),
        slots_(arena.take<Slot>(nodes_ * size_)) {
    const auto mark = arena.mark();
    if (job.real_bytes == 4)
      make_tables(static_cast<const float*>(job.log_weights) + item * job.n * job.n, job.n, arena);
    else
      make_tables(static_cast<const double*>(job.log_weights) + item * job.n * job.n, job.n, arena);
    arena.release(mark);
  }

  // Draws a tree rooted at `root`, which is a node or 0, into heads[1..nodes]. `reached` holds a number
  // other than `tree` for every node.
  void draw(Index root, Philox& random, std::int32_t* heads, std::int64_t* reached,
            std::int64_t tree) const {
    reached[root] = tree;
    for (Index start = 1; start <= nodes_; ++start) {
      for (Index j = start; reached[j] != tree; j = heads[j])
        heads[j] = static_cast<std::int32_t>(
            first_ + draw_slot(slots_ + (j - 1) * size_, size_, random.bits()));
      for (Index j = start; reached[j] != tree; j = heads[j]) reached[j] = tree;
    }
    if (root != 0) heads[root] = 0;
  }

 private:
  template <class Real>
  void make_tables(const Real* log_weights, Index n, Arena& arena) {
    // Several columns at a time, so that a line of the cache is read once.
    constexpr Index kAtOnce = 8;
    const Index stride = (size_ + kLanes - 1) / kLanes * kLanes;
    double* columns = arena.take<double>(kAtOnce * stride);
    auto* list = arena.take<std::int32_t>(size_);
    for (Index j = 1; j <= nodes_; j += kAtOnce) {
      const Index count = std::min(kAtOnce, nodes_ + 1 - j);
      std::fill_n(columns, kAtOnce * stride, -kInfinity);
      for (Index i = 0; i < size_; ++i)
        for (Index c = 0; c < count; ++c)
          columns[c * stride + i] = log_weights[(first_ + i) * n + j + c];
      for (Index c = 0; c < count; ++c) {
        columns[c * stride + (j + c - first_)] = -kInfinity;
        make_slots(columns + c * stride, size_, slots_ + (j + c - 1) * size_, list);
      }
    }
  }

  Index nodes_, first_, size_;
  Slot* slots_;
};

}  // namespace spantree::SPANTREE_ISA
