// From log-weights to weights: scaling, and the exponential.
//
// The steps are the same for both layouts; `Across` and `Within` differ in what a whole sentence is:
// a lane, or all lanes together.
#pragma once

#include <algorithm>

#include "transfer.hpp"

namespace spantree::SPANTREE_ISA {

// A sentence quantity from its values by lane.
SPANTREE_INLINE Pack over_lanes(Across, Pack x) { return x; }
SPANTREE_INLINE Pack over_lanes(Within, Pack x) {
  double top = x[0];
  for (int lane = 1; lane < kLanes; ++lane) top = std::max(top, x[lane]);
  return broadcast(top);
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
