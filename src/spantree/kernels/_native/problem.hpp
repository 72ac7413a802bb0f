// From log-weights in memory to weights in cells, and from G back to results in memory.
//
// The steps are the same for both layouts; `Across` and `Within` differ in how cells are read and
// written and in what a whole sentence is: a lane, or all lanes together.
#pragma once

#include <algorithm>
#include <cfenv>
#include <limits>

#include "divide.hpp"

namespace spantree::SPANTREE_ISA {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A sentence quantity from its values by lane.
SPANTREE_INLINE Pack over_lanes(Across, Pack x) { return x; }
SPANTREE_INLINE Pack over_lanes(Within, Pack x) {
  double top = x[0];
  for (int lane = 1; lane < kLanes; ++lane) top = std::max(top, x[lane]);
  return broadcast(top);
}

// The sentences that are solved together: one per lane, or a single one. Idle lanes repeat the first.
struct Group {
  Index items[kLanes];
  Index lengths[kLanes];
  int count;
};

inline Group group_of(const Job& job, const Index* items, int count) {
  Group g;
  g.count = count;
  for (int lane = 0; lane < kLanes; ++lane) {
    g.items[lane] = items[lane < count ? lane : 0];
    g.lengths[lane] = job.length(g.items[lane]);
  }
  return g;
}

// Reads one tensor of the job into rows of cells. What is not an edge gets `fill`.
template <class Real>
void read_as(Across, const Job& job, const Group& g, const void* tensor, Index copy, Index nodes,
                double fill, Pack* cells) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const Real* from = static_cast<const Real*>(tensor) +
                       (copy * job.count + g.items[lane]) * job.n * job.n + 1;
    double* to = reinterpret_cast<double*>(cells) + lane;
    const Index length = g.lengths[lane];
    for (Index i = 0; i <= nodes; ++i) {
      for (Index j = 0; j < nodes; ++j, to += kLanes)
        *to = i <= length && j < length && i != j + 1 ? double(from[i * job.n + j]) : fill;
    }
  }
}

template <class Real>
void read_as(Within, const Job& job, const Group& g, const void* tensor, Index copy, Index nodes,
                double fill, Pack* cells) {
  const Real* from = static_cast<const Real*>(tensor) +
                     (copy * job.count + g.items[0]) * job.n * job.n + 1;
  double* to = reinterpret_cast<double*>(cells);
  const Index length = g.lengths[0];
  for (Index i = 0; i <= nodes; ++i, to += nodes) {
    for (Index j = 0; j < nodes; ++j)
      to[j] = i <= length && j < length ? double(from[i * job.n + j]) : fill;
    if (i > 0) to[i - 1] = fill;
  }
}

template <class Layout, class... Rest>
void read_cells(Layout layout, const Job& job, Rest... rest) {
  job.real_bytes == 4 ? read_as<float>(layout, job, rest...) : read_as<double>(layout, job, rest...);
}

// The columns of padded nodes: they hang on node 1, which always exists, with weight 1, and govern
// nobody. So they multiply Z by 1 and change no probability.
template <class Layout>
void add_padding(const Group& g, Index nodes, Pack* log_weights) {
  double* row = reinterpret_cast<double*>(log_weights + nodes / Layout::width);
  if constexpr (Layout::width == 1) {
    for (int lane = 0; lane < kLanes; ++lane)
      for (Index j = g.lengths[lane]; j < nodes; ++j) row[j * kLanes + lane] = 0.0;
  } else {
    for (Index j = g.lengths[0]; j < nodes; ++j) row[j] = 0.0;
  }
}

// Writes rows of cells to one tensor of the job, for the chosen lanes.
template <class Real>
void write_as(Across, const Job& job, const Group& g, void* tensor, Index copy, Index nodes,
                 const Pack* cells, Mask chosen) {
  for (int lane = 0; lane < g.count; ++lane) {
    if (!chosen[lane]) continue;
    Real* to = static_cast<Real*>(tensor) + (copy * job.count + g.items[lane]) * job.n * job.n;
    const double* from = reinterpret_cast<const double*>(cells) + lane;
    const Index length = g.lengths[lane];
    for (Index i = 0; i <= length; ++i, to += job.n, from += nodes * kLanes) {
      to[0] = 0;
      for (Index j = 0; j < length; ++j) to[j + 1] = Real(from[j * kLanes]);
      to[i] = 0;
      std::fill(to + length + 1, to + job.n, Real(0));
    }
    std::fill(to, to + (job.n - 1 - length) * job.n, Real(0));
  }
}

template <class Real>
void write_as(Within, const Job& job, const Group& g, void* tensor, Index copy, Index nodes,
                 const Pack* cells, Mask chosen) {
  if (!chosen[0]) return;
  Real* to = static_cast<Real*>(tensor) + (copy * job.count + g.items[0]) * job.n * job.n;
  const double* from = reinterpret_cast<const double*>(cells);
  const Index length = g.lengths[0];
  for (Index i = 0; i <= length; ++i, to += job.n, from += nodes) {
    to[0] = 0;
    for (Index j = 0; j < length; ++j) to[j + 1] = Real(from[j]);
    to[i] = 0;
    std::fill(to + length + 1, to + job.n, Real(0));
  }
  std::fill(to, to + (job.n - 1 - length) * job.n, Real(0));
}

template <class Layout, class... Rest>
void write_cells(Layout layout, const Job& job, Rest... rest) {
  job.real_bytes == 4 ? write_as<float>(layout, job, rest...)
                      : write_as<double>(layout, job, rest...);
}

// The constants that scaling takes out of the weights: the heaviest edge of every column and, for a
// single root, the heaviest edge of the root. `total` + `lost` is what log Z must get back.
struct Scale {
  Pack* columns;
  Pack root{};
  Pack total{}, lost{};
};

SPANTREE_INLINE void add_exactly(Pack x, Pack& total, Pack& lost) {
  const Pack sum = total + x;
  const Pack back = sum - total;
  lost += (total - (sum - back)) + (x - back);
  total = sum;
}

template <class Layout>
Scale scale_of(Arena& arena, const Pack* log_weights, Index nodes, bool single_root) {
  const Index cells = nodes / Layout::width;
  Scale scale{arena.take<Pack>(cells)};
  std::fill_n(scale.columns, cells, broadcast(-kInfinity));
  for (Index i = single_root; i <= nodes; ++i)
    for (Index j = 0; j < cells; ++j)
      scale.columns[j] = maximum(scale.columns[j], log_weights[i * cells + j]);
  Pack root = broadcast(-kInfinity);
  for (Index j = 0; j < cells; ++j) {
    // A node that nobody but the root can govern, or nobody at all.
    Pack& top = scale.columns[j];
    top = select(top > -kInfinity, top, log_weights[j]);
    top = select(top > -kInfinity, top, Pack{});
    root = maximum(root, log_weights[j] - top);
    add_exactly(top, scale.total, scale.lost);
  }
  if constexpr (Layout::width > 1) {
    Pack total{}, lost{};
    for (int lane = 0; lane < kLanes; ++lane) {
      add_exactly(broadcast(scale.total[lane]), total, lost);
      lost += scale.lost[lane];
    }
    scale.total = total, scale.lost = lost;
  }
  root = over_lanes(Layout{}, root);
  if (single_root) {
    scale.root = select(root > -kInfinity, root, Pack{});
    add_exactly(scale.root, scale.total, scale.lost);
  }
  return scale;
}

// Which sentences have edges that doubles cannot hold beside the heaviest of the column.
struct Reach {
  Mask bad{};   // NaN or +inf
  Mask near{};  // exp(-1100)..exp(-700) of it: could be seen in some result
  Mask far{};   // less
};

SPANTREE_INLINE Plain weight_of(Difference d, Plain) { return {exp_or_zero(d)}; }
SPANTREE_INLINE Wide weight_of(Difference d, Wide) {
  // Further down an ulp of the difference is a factor e and more: keep the power of two only.
  const Mask huge = d.value < -1e15;
  const ScaledExp x = scaled_exp(
      {select(huge, Pack{}, d.value), select(huge, Pack{}, d.lost)});
  const Pack power = maximum(d.value * 1.4426950408889634074, broadcast(-1e304));
  return normalised(x.significand, select(huge, power, x.exponent));
}

// exp of the scaled log-weights, seeded with the directions.
template <class Layout, class T>
Reach exponentiate(const Pack* log_weights, const Scale& scale, Pack* const* directions,
                   Index nodes, Grid<T> w) {
  using Base = typename Number<T>::Base;
  const Index cells = nodes / Layout::width;
  Reach reach;
  for (Index i = 0; i <= nodes; ++i) {
    const Pack row_scale = i == 0 ? scale.root : Pack{};
    for (Index j = 0; j < cells; ++j) {
      const Index at = i * cells + j;
      const Pack x = log_weights[at];
      const Mask edge = (x > -kInfinity) & (x < kInfinity);
      reach.bad |= ~(x < kInfinity);
      const Pack safe = select(edge, x, scale.columns[j]);
      const Difference a = exact_difference(safe, scale.columns[j]);
      const Difference b = exact_difference(a.value, row_scale);
      const Difference d{select(edge, b.value, Pack{}), a.lost + b.lost};
      reach.near |= (d.value < kSmallestLogWeight) & (d.value >= -1100.0);
      reach.far |= d.value < -1100.0;
      const Base base = select(edge, weight_of(d, Base{}), Number<Base>::constant(Pack{}));
      w.row(i)[j] = Seed<T>::of(base, [&](int q) { return select(edge, directions[q][at], Pack{}); });
    }
  }
  return reach;
}

}  // namespace spantree::SPANTREE_ISA
