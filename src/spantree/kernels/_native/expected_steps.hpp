// How many steps Wilson's walks will take, known before the first of them is taken.
//
// A tree takes as many steps as the walks from all j visit j itself before they are absorbed. With the
// root for the absorber this is d_j g_j, d_j being the sum of the edges into j. With a node c, in the
// graph without the root, it is
//
//     d_j g_j (E_jc + E_cj)
//
// with g and E of the single-root distribution: walks between j and c and back are cycles of a renewal
// process, and E is the rate at which they meet a root of infinitesimal weight. So one solution tells
// the length for every child that the root may have. Derivation: docs/sampling.md.
#pragma once

#include "problem.hpp"

namespace spantree::SPANTREE_ISA {

// Adds the sum over the columns of a row, which in one layout lies in one cell and in the other in all
// lanes of it, to column `column` of `cells`.
template <class T>
SPANTREE_INLINE void add_to_column(Across, T* cells, Index column, T sum) {
  cells[column] = cells[column] + sum;
}
template <class T>
SPANTREE_INLINE void add_to_column(Within, T* cells, Index column, T sum) {
  T total = lane_of(&sum, 0);
  for (int lane = 1; lane < kLanes; ++lane) total = total + lane_of(&sum, lane);
  Mask lanes{};
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = lane;
  T& cell = cells[column / kLanes];
  cell = cell + select(lanes == column % kLanes, total, Number<T>::constant(Pack{}));
}

// `steps`, one cell per column: the expected steps if that node is the root's only child (single
// root); otherwise each column's share of them.
template <class Layout, class T>
void expected_steps(Arena& arena, Grid<T> w, const Green<T>& green, const Group& group, Index nodes,
                    bool single_root, T* steps) {
  const T zero = Number<T>::constant(Pack{});
  const Index cells = nodes / Layout::width;
  T* visits = single_root ? arena.take<T>(cells) : steps;
  for (Index j = 0; j < cells; ++j) {
    T sum = single_root ? zero : w.row(0)[j];
    for (Index i = 1; i <= nodes; ++i) sum = sum + w.row(i)[j];
    visits[j] = select(inside(Layout{}, group, 0, j), sum * green.at_root[j], zero);
  }
  if (!single_root) return;

  // A node j that cannot be the root's child has E_rho,j = 0 and g_j, E_cj of order 1 (docs/numerics.md,
  // "Single root"): once its walks have left they never return, E_cj = 1, and E_jc, of order t, is
  // nothing beside that.
  T* returning = arena.take<T>(cells);
  for (Index j = 0; j < cells; ++j) {
    returning[j] = select(is_zero(green.walks.row(0)[j]), zero, visits[j]);
    steps[j] = zero;
  }
  for (Index i = 0; i < nodes; ++i) {
    const T* row = green.walks.row(1 + i);
    const T back = Layout::coefficient(returning, i);
    T out = zero;
    for (Index j = 0; j < cells; ++j) {
      steps[j] = fma(back, row[j], steps[j]);
      out = fma(visits[j], row[j], out);
    }
    add_to_column(Layout{}, steps, i, out);
  }
}

}  // namespace spantree::SPANTREE_ISA
