// A graph with all of its nodes eliminated, and everything that is needed to put them back.
//
// Nodes stand in an order of their own, positions 1..N; 0 is the root. They are eliminated from the
// last to the first, which turns the weight of i -> j into
//
//     w^(s)_ij = w_ij + sum over m > s of p_i[m] w^(m)_mj
//
// among positions 0..s: the walks that go through an eliminated m count where they come out.
#pragma once

#include "problem.hpp"
#include "sampling.hpp"

namespace spantree::SPANTREE_ISA {

// One number: significand * 2^exponent. Where doubles suffice the exponent is 0.
struct Scaled {
  double significand, exponent;
};

SPANTREE_INLINE Scaled at(const Plain* row, Index column) {
  return {reinterpret_cast<const double*>(row)[column], 0.0};
}
SPANTREE_INLINE Scaled at(const Wide* row, Index column) {
  const double* cell = reinterpret_cast<const double*>(row + column / kLanes) + column % kLanes;
  return {cell[0], cell[kLanes]};
}
SPANTREE_INLINE void put(Plain* row, Index column, Scaled x) {
  reinterpret_cast<double*>(row)[column] = x.significand;
}
SPANTREE_INLINE void put(Wide* row, Index column, Scaled x) {
  double* cell = reinterpret_cast<double*>(row + column / kLanes) + column % kLanes;
  cell[0] = x.significand, cell[kLanes] = x.exponent;
}

// x in units of 2^exponent, as a double: 0 if it could not be seen beside 1.
SPANTREE_INLINE double in_units(Scaled x, double exponent) {
  const double shift = x.exponent - exponent;
  if (shift == 0.0) return x.significand;
  return shift > -1000.0 ? std::ldexp(x.significand, static_cast<int>(shift)) : 0.0;
}

SPANTREE_INLINE Scaled product(Scaled a, Scaled b) {
  return {a.significand * b.significand, a.exponent + b.exponent};
}

template <class T>
struct Factor {
  Grid<T> heads;       // row i, column m - 1, i < m: p_i[m], where a walk at m goes
  Grid<T> through;     // row j, column m - 1, j < m: w^(m)_mj, where it comes from
  Grid<T> direct;      // row i, column j - 1: w_ij
  Scaled* pivots;      // at m: d_m, by which p[m] was divided
  double* cumulative;  // row m, i < m: p_0[m] + ... + p_i[m]
  Index nodes, cells;  // N, and how many cells hold N columns
  bool trusted;        // nothing left the range of the numbers

  const double* cumulative_heads(Index m) const { return cumulative + m * (nodes + 1); }
};

// Reads the log-weights in the order of the positions; no edge leaves the root if it is `rootless`.
template <class Real>
void read_permuted(const Real* log_weights, Index n, const std::int32_t* order, Index nodes,
                   Index padded, bool rootless, double* cells) {
  std::fill_n(cells, (padded + 1) * padded, -kInfinity);
  for (Index i = rootless; i <= nodes; ++i) {
    const Real* from = log_weights + order[i] * n;
    double* row = cells + i * padded;
    for (Index j = 1; j <= nodes; ++j) row[j - 1] = static_cast<double>(from[order[j]]);
    if (i > 0) row[i - 1] = -kInfinity;
  }
  // Padded nodes hang on position 1 and govern nobody.
  std::fill(cells + padded + nodes, cells + 2 * padded, 0.0);
}

// Eliminates all nodes of an item. In a multi-root distribution the root is a head like any other. In
// a single-root one it is left out: p, in the limit of an infinitesimal root, does not depend on it.
// Then the walk from any position must lead to position 1. O(N^3 / 3), shared by all samples.
template <class T>
Factor<T> factorise(const SamplingJob& job, Index item, const std::int32_t* order, Arena& arena) {
  Factor<T> f;
  f.nodes = job.length(item);
  const Index padded = (f.nodes + kLanes - 1) / kLanes * kLanes;
  f.cells = padded / kLanes;
  const Index stride = f.cells | 1, size = (padded + 1) * stride;
  f.heads = {arena.take<T>(size), stride};
  f.through = {arena.take<T>(size), stride};
  f.direct = {arena.take<T>(size), stride};
  f.pivots = arena.take<Scaled>(padded + 1);
  f.cumulative = arena.take<double>((f.nodes + 1) * (f.nodes + 1));

  const auto mark = arena.mark();
  Pack* log_weights = arena.take<Pack>((padded + 1) * f.cells);
  const Index offset = item * job.n * job.n;
  const auto read = [&](const auto* tensor) {
    read_permuted(tensor + offset, job.n, order, f.nodes, padded, job.single_root,
                  reinterpret_cast<double*>(log_weights));
  };
  job.real_bytes == 4 ? read(static_cast<const float*>(job.log_weights))
                      : read(static_cast<const double*>(job.log_weights));
  const Scale scale = scale_of<Within>(arena, log_weights, padded, job.single_root);
  const Reach reach = exponentiate<Within>(log_weights, scale, nullptr, padded, f.direct);
  arena.release(mark);
  std::fill_n(f.through.cells, size, Number<T>::constant(Pack{}));

  left_range();
  Lineage lineage{Mask{} - !job.single_root};
  Index m = padded;
  eliminate<Within>(Origin<T>{f.direct}, f.heads, padded, lineage,
                    [&](const T& pivot) { f.pivots[m--] = at(&pivot, 0); });
  f.trusted = !left_range() && !any(reach.below);
  put(f.heads.row(0), 0, {1.0, 0.0});  // which `eliminate` leaves open: nobody asks where the last goes

  // In a panel of columns at a time, so that lines of the cache are written whole.
  for (Index first = 1; first <= f.nodes; first += 8)
    for (Index j = 1; j < f.nodes; ++j)
      for (Index s = std::max(first, j + 1); s < std::min(first + 8, f.nodes + 1); ++s)
        put(f.through.row(j), s - 1, at(f.heads.row(s), j - 1));
  for (Index s = 1; s <= f.nodes; ++s) {
    double* sums = f.cumulative + s * (f.nodes + 1);
    double sum = sums[0] = job.single_root ? 0.0 : in_units(at(f.heads.row(0), s - 1), 0.0);
    for (Index i = 1; i < s; ++i) sums[i] = sum += in_units(at(f.heads.row(i), s - 1), 0.0);
  }
  return f;
}

}  // namespace spantree::SPANTREE_ISA
