// Numbers between memory and cells: tensors of log-weights and directions in, results out.
//
// `Across` and `Within` differ in how cells are read and written, which is by transposition where
// several sentences lie side by side.
#pragma once

#include <algorithm>
#include <limits>

#include "divide.hpp"

namespace spantree::SPANTREE_ISA {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

}  // namespace spantree::SPANTREE_ISA
