// One graph of a batch, as the decoder sees it: the best edge into every node, found along the rows
// in which a graph lies in memory, and the edges into a node as a column, for those that need more.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "decoding.hpp"
#include "simd.hpp"

namespace spantree::SPANTREE_ISA {

using Index = std::ptrdiff_t;
using Node = std::int32_t;

inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

constexpr Index whole_packs(Index size) { return (size + kLanes - 1) / kLanes; }

SPANTREE_INLINE Mask lane_numbers(Index first) {
  Mask numbers;
  for (int lane = 0; lane < kLanes; ++lane) numbers[lane] = first + lane;
  return numbers;
}

template <class Real>
struct Graph {
  const Real* weights;  // [head * n + dependent]
  const Real* end;      // of all that may be read
  Index n, length;

  Graph(const Decoding& job, Index item)
      : weights(static_cast<const Real*>(job.log_weights) + item * job.n * job.n),
        end(static_cast<const Real*>(job.log_weights) + job.count * job.n * job.n),
        n(job.n), length(job.length(item)) {}

  double weight(Index head, Index dependent) const {
    return static_cast<double>(weights[head * n + dependent]);
  }

  // The edges from `head` to kLanes neighbouring nodes, whatever lies there.
  SPANTREE_INLINE Pack pack(Index head, Index first) const {
    const Real* from = weights + head * n + first;
    if (from + kLanes <= end) [[likely]]
      return load(from);
    Real rest[kLanes] = {};
    std::copy(from, end, rest);
    return load(rest);
  }
};

// The best edge into every node, over the heads 1..length, the smallest head among equals; and the
// edges from the root. All arrays are indexed by the node, with room for whole packs from node 1 on.
struct BestEdges {
  double* score;
  std::int64_t* head;
  double* from_root;

  BestEdges(Arena& arena, Index length) {
    const Index size = 1 + whole_packs(length) * kLanes;
    score = arena.take<double>(size);
    head = arena.take<std::int64_t>(size);
    from_root = arena.take<double>(size);
  }
};

// Fills in some packs of columns, their maxima in registers while all rows pass by. Returns where
// there was NaN or +inf.
template <int kPacks, class Real>
Mask scan_columns(const Graph<Real>& graph, Index first, BestEdges& best) {
  Pack top[kPacks];
  Mask head[kPacks], node[kPacks], bad{};
  for (int p = 0; p < kPacks; ++p) {
    top[p] = broadcast(kForbidden), head[p] = Mask{};
    node[p] = lane_numbers(first + p * kLanes);
  }
  const auto pass = [&](Index from, Index to, auto hides_lanes) {
    for (Index i = from; i < to; ++i)
      for (int p = 0; p < kPacks; ++p) {
        Pack x = graph.pack(i, first + p * kLanes);
        if (hides_lanes)  // the diagonal, and what lies past the last node
          x = select((node[p] == Mask{} + i) | (node[p] > Mask{} + graph.length),
                     broadcast(kForbidden), x);
        bad |= x != x;
        const Mask better = x > top[p];
        top[p] = select(better, x, top[p]);
        head[p] = better ? Mask{} + i : head[p];
      }
  };
  const Index last = first + kPacks * kLanes, rows = graph.length + 1;
  const bool inside = last <= rows;
  const Index diagonal = inside ? std::min(first, rows) : 1;
  pass(1, diagonal, std::false_type{});
  pass(diagonal, inside ? last : rows, std::true_type{});
  pass(inside ? last : rows, rows, std::false_type{});
  for (int p = 0; p < kPacks; ++p) {
    const Index at = first + p * kLanes;
    const Pack root =
        select(node[p] > Mask{} + graph.length, broadcast(kForbidden), graph.pack(0, at));
    bad |= (root != root) | (root == -kForbidden) | (top[p] == -kForbidden);
    store(best.score + at, top[p]);
    std::memcpy(best.head + at, &head[p], sizeof head[p]);
    store(best.from_root + at, root);
  }
  return bad;
}

// Whether all edges are numbers below +inf.
template <class Real>
bool scan(const Graph<Real>& graph, BestEdges& best) {
  Mask bad{};
  Index first = 1, left = whole_packs(graph.length);
  for (; left >= 4; left -= 4, first += 4 * kLanes) bad |= scan_columns<4>(graph, first, best);
  if (left >= 2) bad |= scan_columns<2>(graph, first, best), left -= 2, first += 2 * kLanes;
  if (left) bad |= scan_columns<1>(graph, first, best);
  return !any(bad);
}

// The edges into each node by head, -inf where there is none and behind the last, in whole packs.
// They are read when asked for, kLanes columns at a time, and scaled by a power of two.
template <class Real>
class Columns {
 public:
  // Beyond this sums of weights might leave the range of doubles.
  static constexpr double kHuge = 0x1p960;

  Columns(const Graph<Real>& graph, Arena& arena, double scale)
      : graph_(graph), arena_(arena), scale_(scale), packs(whole_packs(graph.length + 1)),
        columns_(arena.take<const double*>(graph.length + 1)) {
    std::fill_n(columns_, graph.length + 1, nullptr);
  }

  const double* operator[](Index node) {
    if (!columns_[node]) read((node - 1) / kLanes * kLanes + 1);
    return columns_[node];
  }
  // Puts another column in the place of a node's own.
  void replace(Index node, const double* column) { columns_[node] = column; }

  bool found_huge() const { return found_huge_; }
  double scale() const { return scale_; }

 private:
  void read(Index first) {
    const Index size = packs * kLanes, length = graph_.length;
    double* block = arena_.take<double>(kLanes * size);
    const Mask node = lane_numbers(first);
    Mask huge{};
    for (Index i = 0; i < size; i += kLanes) {
      Pack rows[kLanes];
      for (int k = 0; k < kLanes; ++k) {
        const bool real = i + k <= length;
        const Pack x = real ? graph_.pack(i + k, first) : broadcast(kForbidden);
        const Mask edge = (node <= Mask{} + length) & (node != Mask{} + (i + k));
        rows[k] = select(edge, x, broadcast(kForbidden)) * scale_;
        huge |= (absolute(rows[k]) > kHuge) & (rows[k] > kForbidden);
      }
      transpose(rows);
      for (int k = 0; k < kLanes; ++k) store(block + k * size + i, rows[k]);
    }
    found_huge_ |= any(huge);
    for (Index k = 0; k < kLanes && first + k <= length; ++k)
      columns_[first + k] = block + k * size;
  }

  const Graph<Real>& graph_;
  Arena& arena_;
  const double scale_;
  bool found_huge_ = false;

 public:
  const Index packs;  // of a column

 private:
  const double** columns_;
};

}  // namespace spantree::SPANTREE_ISA
