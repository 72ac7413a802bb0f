// One half step of the divide and conquer: eliminate some nodes, and later put them back.
//
// The weights of a subproblem with nodes 0..m-1 lie in rows of cells: row 0 holds the edges that
// leave the root, row q + 1 those that leave node q; columns are dependents. Nodes are ordered so
// that those to keep come first, and they are eliminated from the last to the first. Hence what
// remains when node q goes are rows 0..q and columns 0..q-1, always a prefix. Afterwards column q
// holds p[:, q], the distribution of the head of q among what remained, and the leading block holds
// the reduced weights of the kept nodes. The diagonal is never read.
#pragma once

#include <algorithm>

#include "tiles.hpp"

namespace spantree::SPANTREE_ISA {

// What a subproblem knows of the root. In a multi-root distribution the root is a head like any
// other. In a single-root one it is a node of infinitesimal weight t, and everything is kept in
// units of t: then its edges do not count in a pivot, unless a node has no other head left. Such
// a node must be the root's child, and from there on the root counts (and its other edges, of a
// higher order in t, do not). See "Single root" in docs/numerics.md.
struct Lineage {
  Mask root_counts;  // the root is a head like any other
  Mask collapsed{};  // it became so during the present half step
  Mask dead{};       // some node had no head at all: there is no tree
};

template <class T>
struct Grid {
  T* cells;
  Index stride;  // cells a row
  SPANTREE_INLINE T* row(Index i) const { return cells + i * stride; }
};

// Where rows of weights are found before they are brought up to date: in the grid itself, or, when a
// subproblem is split from a larger one, in the grid of that, where the nodes to keep and those to
// drop lie side by side each. Columns are fetched from there when they are first needed, and nothing
// is copied for its own sake.
template <class T>
struct Origin {
  Grid<T> w;
  Index kept = 0;                  // how many nodes are kept
  Index to_kept = 0, to_dropped = 0;  // how far from their place in the grid both kinds are
  SPANTREE_INLINE const T* row(Index i) const {
    return w.row(i == 0 ? 0 : i <= kept ? i + to_kept : i + to_dropped);
  }
  SPANTREE_INLINE Index shift_of_column(Index j) const { return j < kept ? to_kept : to_dropped; }
};

// The pivot of node q, given the sum over its remaining heads and the edge from the root. Where the
// root comes to count, all its other edges are forgotten: those in the cells from `first` on here, the
// others when they are fetched.
template <class Layout, class T>
SPANTREE_INLINE T settle_pivot(T sum, T root, Index q, Grid<T> w, Index first, Index cells,
                               Lineage& lineage) {
  const T zero = Number<T>::constant(Pack{});
  T pivot = sum + select(lineage.root_counts, root, zero);
  if (const Mask none = is_zero(pivot); any(none)) [[unlikely]] {
    const Mask collapse = none & ~lineage.root_counts & ~is_zero(root);
    for (Index j = first; j < cells; ++j)
      w.cells[j] = select(collapse & Layout::others(j, q), zero, w.cells[j]);
    lineage.root_counts |= collapse;
    lineage.collapsed |= collapse;
    pivot = select(collapse, root, pivot);
    const Mask dead = is_zero(pivot);
    lineage.dead |= dead;
    pivot = select(dead, Number<T>::constant(broadcast(1.0)), pivot);
  }
  return pivot;
}

// Adds to `count` cells of every row, from column cell `first` on, what the elimination of nodes
// done..last-1 adds to them; that of later nodes is in them already. Rows of eliminated nodes feed
// those eliminated after them. `collapsed`: where the root came to count after these cells were as
// they are found, so that its edges there are forgotten.
template <class Layout, class T>
void bring_up_to_date(const Origin<T>& origin, Grid<T> w, Index last, Index done, Index first,
                      Index count, Mask collapsed) {
  using S = Shape<T, Layout>;
  const Index depth = last - done;
  const Index shift = origin.shift_of_column(first * Layout::width) / Layout::width;
  const bool forgetting = any(collapsed);
  in_steps<S::columns>(count, [&](Index at, auto columns) {
    const Index cell = first + at;
    const auto fetched = [&](Index row) { return origin.row(row) + shift + cell; };
    const T* pivots = w.row(last) + cell;  // the row of the k-th pivot is k rows above
    in_steps<S::rows>(depth, [&](Index k0, auto rows) {
      Tile<T, rows, columns> tile;
      const auto a = [&](Index i, Index k) {
        return Layout::coefficient(w.row(last - k0 - i), last - 1 - k);
      };
      tile.load([&](Index i) { return fetched(last - k0 - i); });
      tile.accumulate(a, pivots, -w.stride, k0);
      tile.substitute([&](Index i, Index k) { return a(i, k0 + k); });
      tile.store(w.row(last - k0) + cell, -w.stride);
    });
    in_steps<S::rows>(done + 1, [&](Index row, auto rows) {
      Tile<T, rows, columns> tile;
      tile.load([&](Index i) { return fetched(row + i); });
      if (row == 0 && forgetting) [[unlikely]]
        tile.forget_first_row(collapsed);
      tile.accumulate(
          [&](Index i, Index k) { return Layout::coefficient(w.row(row + i), last - 1 - k); },
          pivots, -w.stride, depth);
      tile.store(w.row(row) + cell, w.stride);
    });
  });
}

// The sum of rows 1..count of a column of cells, by four running sums.
template <class T>
SPANTREE_INLINE T sum_of_heads(const T* column, Index stride, Index count) {
  T s[4];
  for (int a = 0; a < 4; ++a) s[a] = Number<T>::constant(Pack{});
  Index i = 1;
  for (; i + 3 <= count; i += 4)
#pragma GCC unroll 4
    for (int a = 0; a < 4; ++a) s[a] = s[a] + column[(i + a) * stride];
  for (; i <= count; ++i) s[0] = s[0] + column[i * stride];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// Eliminates the nodes first..last-1, whose columns are up to date with all later pivots. Each layout
// has its own way: across sentences a column is a cell, within a graph it is a lane.
template <class T, class OnPivot>
void factor(Across, Grid<T> w, Index cells, Index first, Index last, Lineage& lineage,
            OnPivot&& on_pivot) {
  for (Index q = last - 1; q >= first; --q) {
    const T* column = w.cells + q;
    const T pivot = settle_pivot<Across>(sum_of_heads(column, w.stride, q), column[0], q, w, first,
                                         cells, lineage);
    on_pivot(pivot);
    const T inverse = reciprocal(pivot);
    const T* pivot_row = w.row(q + 1);
    for (Index i = 0; i <= q; ++i) {
      T* row = w.row(i);
      const T p = row[q] * inverse;
      row[q] = p;
      for (Index j = first; j < q; ++j) row[j] = fma(p, pivot_row[j], row[j]);
    }
  }
}

template <class T, class OnPivot>
void factor(Within, Grid<T> w, Index cells, Index first, Index last, Lineage& lineage,
            OnPivot&& on_pivot) {
  const T zero = Number<T>::constant(Pack{});
  T* column = w.cells + first / kLanes;  // one cell wide: last - first == kLanes
  Mask lanes{};
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = lane;
  T sums = sum_of_heads(column, w.stride, last - 1);
  for (Index q = last - 1; q >= first; --q) {
    const Index lane = q - first;
    const T pivot = settle_pivot<Within>(lane_of(&sums, lane), lane_of(column, lane), q, w,
                                         first / kLanes, cells, lineage);
    on_pivot(pivot);
    const T inverse = reciprocal(pivot);
    const T pivot_row = select(lanes < lane, column[(q + 1) * w.stride], zero);
    const auto eliminate_from = [&](Index i) {
      T& cell = column[i * w.stride];
      const T p = lane_of(&cell, lane) * inverse;
      return cell = select(lanes == lane, p, fma(p, pivot_row, cell));
    };
    // The sums for the next pivot, over rows 1..q-1, are taken on the way: four running sums again.
    T s[4] = {zero, zero, zero, zero};
    eliminate_from(0);
    Index i = 1;
    for (; i + 3 < q; i += 4)
#pragma GCC unroll 4
      for (int a = 0; a < 4; ++a) s[a] = s[a] + eliminate_from(i + a);
    for (; i < q; ++i) s[0] = s[0] + eliminate_from(i);
    eliminate_from(q);  // the next node's own row, which is not among its heads
    sums = (s[0] + s[1]) + (s[2] + s[3]);
  }
}

// Eliminates nodes kept..m-1. The columns of the kept nodes are not fetched yet.
template <class Layout, class T, class OnPivot>
void eliminate(const Origin<T>& origin, Grid<T> w, Index m, Lineage& lineage,
               OnPivot&& on_pivot) {
  // A panel is factored with its columns at hand: as wide as a tile across sentences, one cell within
  // a graph. There the panels of a block as wide as a tile are brought up to date together.
  constexpr Index width = Layout::width, tile = Shape<T, Layout>::columns;
  constexpr Index panel = width > 1 ? width : tile, block = width > 1 ? width * tile : tile;
  const Index cells = m / width, kept = origin.kept;
  const auto update = [&](const Origin<T>& from, Index last, Index done, Index first, Index end,
                          Mask collapsed) {
    bring_up_to_date<Layout>(from, w, last, done, first / width, (end - first) / width, collapsed);
  };
  for (Index last = m; last > kept;) {
    const Index block_last = last, block_first = std::max(last - block, kept);
    const Mask before = lineage.collapsed;
    update(origin, m, last, block_first, last, before);
    while (last > block_first) {
      const Index first = std::max(last - panel, block_first);
      if (last < block_last)
        update({w}, block_last, last, first, last, lineage.collapsed & ~before);
      factor(Layout{}, w, cells, first, last, lineage, on_pivot);
      last = first;
    }
  }
}

// Where the walk probabilities E of a subproblem live: E[i, j] is the probability that a walk from
// i to its head, to the head of that, and so on, reaches the root before j (for a single root, in
// units of t). Rows as in the weights, but the rows of the kept and of the dropped nodes may stand
// apart.
template <class T>
struct Walks {
  T* root;
  T* kept;
  T* dropped;
  Index stride;
};

// E[k, kept] for the dropped nodes, last eliminated first, from E[kept, kept] and the distributions
// of heads that `eliminate` left behind; `count` cells of the columns of E from `first` on.
template <class Layout, class T>
void back_substitute(Grid<T> w, Index m, Index kept, Walks<T> e, Index first, Index count) {
  using S = Shape<T, Layout>;
  in_steps<S::columns>(count, [&](Index at, auto columns) {
    const Index cell = first + at;
    in_steps<S::rows>(m - kept, [&](Index q, auto rows) {
      const auto p = [&](Index row) {
        return [=](Index i, Index k) {
          return Layout::coefficient(w.row(row + k), kept + q + i);
        };
      };
      Tile<T, rows, columns> tile;
      tile.clear();
      tile.accumulate(p(0), e.root + cell, 0, 1);
      tile.accumulate(p(1), e.kept + cell, e.stride, kept);
      tile.accumulate(p(1 + kept), e.dropped + cell, e.stride, q);
      tile.substitute([&](Index i, Index k) {
        return Layout::coefficient(w.row(1 + kept + q + k), kept + q + i);
      });
      tile.store(e.dropped + q * e.stride + cell, e.stride);
    });
  });
}

}  // namespace spantree::SPANTREE_ISA
