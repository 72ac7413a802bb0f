// From log-weights in memory to weights in cells, and from G back to results in memory.
//
// The steps are the same for both layouts; `Across` and `Within` differ in how cells are read and
// written and in what a whole sentence is: a lane, or all lanes together.
#pragma once

#include <algorithm>
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

// The lanes of cell `cell` in row i that are inside their graphs.
SPANTREE_INLINE Mask inside(Across, const Group& g, Index i, Index cell) {
  Mask lengths;
  for (int lane = 0; lane < kLanes; ++lane) lengths[lane] = g.lengths[lane];
  return lengths >= Mask{} + std::max(i, cell + 1);
}
SPANTREE_INLINE Mask inside(Within, const Group& g, Index i, Index cell) {
  Mask columns;
  for (int lane = 0; lane < kLanes; ++lane) columns[lane] = cell * kLanes + lane;
  return (columns < Mask{} + g.lengths[0]) & (Mask{} - (i <= g.lengths[0]));
}

// Whether a pack of numbers from column j + 1 of row i on lies within an n x n matrix.
SPANTREE_INLINE bool within_matrix(Index n, Index i, Index j) {
  return i * n + 1 + j + kLanes <= n * n;
}

// Reads one tensor of the job into rows of cells. What is not an edge gets `fill`.
template <class Real>
void read_as(Across, const Job& job, const Group& g, const void* tensor, Index copy, Index nodes,
             double fill, Pack* cells) {
  const Real* from[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    from[lane] = static_cast<const Real*>(tensor) +
                 (copy * job.count + g.items[lane]) * job.n * job.n + 1;
  const bool ragged = *std::min_element(g.lengths, g.lengths + kLanes) < nodes;
  const Index columns = std::min(nodes, job.n - 1), rows = std::min(nodes, job.n - 1);
  if (ragged) std::fill_n(cells, (nodes + 1) * nodes, broadcast(fill));
  for (Index i = 0; i <= rows; ++i) {
    Pack* row = cells + i * nodes;
    Index j = 0;
    // A pack that reaches beyond its row reads on in the next, and what it finds there is left out.
    for (; j < columns && within_matrix(job.n, i, j); j += kLanes) {
      Pack block[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) block[lane] = load(from[lane] + i * job.n + j);
      transpose(block);
      if (j + kLanes <= columns)
        for (int k = 0; k < kLanes; ++k) row[j + k] = block[k];
      else
        for (Index k = 0; j + k < columns; ++k) row[j + k] = block[k];
    }
    for (; j < columns; ++j)
      for (int lane = 0; lane < kLanes; ++lane)
        reinterpret_cast<double*>(row + j)[lane] = from[lane][i * job.n + j];
    if (ragged)
      for (j = 0; j < columns; ++j)
        row[j] = select(inside(Across{}, g, i, j), row[j], broadcast(fill));
    if (i > 0) row[i - 1] = broadcast(fill);
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
    const Index present = i <= length ? length : 0;
    for (Index j = 0; j < present; ++j) to[j] = double(from[i * job.n + j]);
    std::fill(to + present, to + nodes, fill);
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

// Writes to one tensor of the job, for the chosen lanes. `cells_of(i)` are those of row i; it is asked
// for one row after the other.
template <class Real, class Rows>
void write_as(Across, const Job& job, const Group& g, void* tensor, Index copy, Rows&& cells_of,
              Mask chosen) {
  Real* to[kLanes];
  Index lengths[kLanes];  // -1 where nothing is written
  for (int lane = 0; lane < kLanes; ++lane) {
    to[lane] = static_cast<Real*>(tensor) + (copy * job.count + g.items[lane]) * job.n * job.n;
    lengths[lane] = lane < g.count && chosen[lane] ? g.lengths[lane] : -1;
  }
  const Index longest = *std::max_element(lengths, lengths + kLanes);
  for (Index i = 0; i <= longest; ++i) {
    const Pack* row = cells_of(i);
    Index j = 0;
    // A row that ends within a pack is cut off below, and what goes beyond is overwritten by the next.
    for (; j < longest && within_matrix(job.n, i, j); j += kLanes) {
      Pack block[kLanes] = {};
      for (int k = 0; k < kLanes && j + k < longest; ++k) block[k] = row[j + k];
      transpose(block);
      for (int lane = 0; lane < kLanes; ++lane)
        if (i <= lengths[lane]) store(to[lane] + i * job.n + 1 + j, block[lane]);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const Index length = lengths[lane];
      if (i > length) continue;
      Real* out = to[lane] + i * job.n;
      for (Index k = j; k < length; ++k) out[1 + k] = Real(row[k][lane]);
      std::fill(out + 1 + length, out + job.n, Real(0));
      out[0] = out[i] = 0;
    }
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (lengths[lane] >= 0)
      std::fill(to[lane] + (lengths[lane] + 1) * job.n, to[lane] + job.n * job.n, Real(0));
}

template <class Real, class Rows>
void write_as(Within, const Job& job, const Group& g, void* tensor, Index copy, Rows&& cells_of,
              Mask chosen) {
  if (!chosen[0]) return;
  Real* to = static_cast<Real*>(tensor) + (copy * job.count + g.items[0]) * job.n * job.n;
  const Index length = g.lengths[0];
  for (Index i = 0; i <= length; ++i, to += job.n) {
    const double* from = reinterpret_cast<const double*>(cells_of(i));
    to[0] = 0;
    for (Index j = 0; j < length; ++j) to[j + 1] = Real(from[j]);
    to[i] = 0;
    std::fill(to + length + 1, to + job.n, Real(0));
  }
  std::fill(to, to + (job.n - 1 - length) * job.n, Real(0));
}

template <class Layout, class... Rest>
void write_cells(Layout layout, const Job& job, Rest&&... rest) {
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

// Column by column in either layout, so that both round alike.
SPANTREE_INLINE void add_columns(Across, Pack columns, Scale& scale) {
  add_exactly(columns, scale.total, scale.lost);
}
SPANTREE_INLINE void add_columns(Within, Pack columns, Scale& scale) {
  for (int lane = 0; lane < kLanes; ++lane)
    add_exactly(broadcast(columns[lane]), scale.total, scale.lost);
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
    // A node that nobody but the root can govern, or nobody but at a forbidding price.
    Pack& top = scale.columns[j];
    top = select(log_weights[j] - top > -kSmallestLogWeight, log_weights[j], top);
    top = select(top > -kInfinity, top, Pack{});
    root = maximum(root, log_weights[j] - top);
    add_columns(Layout{}, top, scale);
  }
  root = over_lanes(Layout{}, root);
  if (single_root) {
    scale.root = select(root > -kInfinity, root, Pack{});
    add_exactly(scale.root, scale.total, scale.lost);
  }
  return scale;
}

// What the log-weights of a sentence ask for.
struct Reach {
  Mask bad{};    // NaN or +inf
  Mask below{};  // edges that doubles cannot hold beside the heaviest of their column
};

SPANTREE_INLINE Plain weight_of(Difference d, Mask representable, Plain) {
  return {exp_or_zero(d, representable)};
}
SPANTREE_INLINE Wide weight_of(Difference d, Mask, Wide) {
  const Mask edge = d.value > -kInfinity;
  // Further down an ulp of the difference is a factor e and more: keep the power of two only.
  const Mask huge = d.value < -1e15;
  const ScaledExp x =
      scaled_exp({select(huge, Pack{}, d.value), select(huge, Pack{}, d.lost)});
  const Pack power = maximum(d.value * 1.4426950408889634074, broadcast(-1e304));
  const Wide weight = normalised(x.significand, select(huge, power, x.exponent));
  return select(edge, weight, Number<Wide>::constant(Pack{}));
}

// exp of the scaled log-weights, seeded with the directions. `w` may be where the log-weights are.
template <class Layout, class T>
Reach exponentiate(const Pack* log_weights, const Scale& scale, Pack* const* directions,
                   Index nodes, Grid<T> w) {
  using Base = typename Number<T>::Base;
  const Index cells = nodes / Layout::width;
  Reach reach;
  for (Index i = 0; i <= nodes; ++i)
    for (Index j = 0; j < cells; ++j) {
      const Index at = i * cells + j;
      if (Layout::width == 1 && i == j + 1) {  // the diagonal
        w.row(i)[j] = Number<T>::constant(Pack{});
        continue;
      }
      const Pack x = log_weights[at];
      if constexpr (std::is_same_v<T, Plain>) {
        Pack close = x - scale.columns[j];
        if (i == 0) close -= scale.root;
        if (!any(~(close >= kCloseBy))) [[likely]] {  // nothing to watch for: the same bits, sooner
          w.row(i)[j] = {exp_close_by(close)};
          continue;
        }
      }
      Difference d = exact_difference(x, scale.columns[j]);
      if (i == 0) {
        const Difference again = exact_difference(d.value, scale.root);
        d = {again.value, d.lost + again.lost};
      }
      const Mask representable = d.value >= kSmallestLogWeight;
      reach.bad |= ~(x < kInfinity);
      reach.below |= ~representable & (x > -kInfinity);
      const Base base = weight_of(d, representable, Base{});
      if constexpr (Number<T>::order == 0)
        w.row(i)[j] = base;
      else
        w.row(i)[j] = Seed<T>::of(base, [&](int q) {
          return select(x > -kInfinity, directions[q][at], Pack{});
        });
    }
  return reach;
}

// Of the sentences with edges below the range of doubles, those with edges not far below it, which
// might be seen in some result. Those at exp(-1100) and less cannot.
template <class Layout>
Mask not_far_below(const Pack* log_weights, const Scale& scale, Index nodes) {
  const Index cells = nodes / Layout::width;
  Mask near{};
  for (Index i = 0; i <= nodes; ++i)
    for (Index j = 0; j < cells; ++j) {
      const Pack d = log_weights[i * cells + j] - scale.columns[j] - (i == 0 ? scale.root : Pack{});
      near |= (d < kSmallestLogWeight) & (d >= -1100.0);
    }
  return near;
}

}  // namespace spantree::SPANTREE_ISA
