// The divide and conquer for several graphs of one size side by side, each a lane.
#pragma once

#include <utility>

#include "divide.hpp"

namespace spantree::SPANTREE_ISA {

// Several graphs of one size side by side.
template <class T>
class ManyGraphs : public Divider<Across, T> {
 public:
  ManyGraphs(Arena& arena, Green<T> green, bool with_walks)
      : Divider<Across, T>(arena, green, with_walks) {}

  void solve(Grid<T> w, Index nodes, Index first, Lineage lineage) {
    if (solve_few(w, nodes, first, lineage)) return;
    if (nodes == 1) return leaf(w.cells[0], first);
    this->halve(w, nodes, first, lineage, [this](auto... half) { solve(half...); });
  }

 private:
  // Few nodes, which is what the recursion mostly meets, in functions that know how many: the same
  // operations in the same order, but on numbers that stay in registers. What is not usual (a pivot
  // of zero in some lane) is left to the general way, as if nothing had been tried.
  bool solve_few(Grid<T> w, Index nodes, Index first, Lineage lineage) {
    const Wide before = this->partition_;
    const bool solved = [&]<int... M>(std::integer_sequence<int, M...>) {
      return ((nodes == M + 1 && few<M + 1>(w, first, lineage.root_counts)) || ...);
    }(std::make_integer_sequence<int, kFew>{});
    if (!solved) this->partition_ = before;
    return solved;
  }

  // Up to how many nodes: more numbers than fit the registers are better off in memory.
  static constexpr int kFew = kPlanes<T> == 1 ? 5 : kPlanes<T> == 2 ? 3 : 2;

  template <Index M>
  SPANTREE_INLINE bool few(Grid<T> w, Index first, Mask root_counts) {
    if constexpr (M == 1) {
      if (any(is_zero(w.cells[0]))) [[unlikely]] return false;
      leaf(w.cells[0], first);
      return true;
    } else {
      return few_kept<M, true>(w, first, root_counts) &&
             (!this->with_walks_ || few_kept<M, false>(w, first, root_counts));
    }
  }

  // One half of M nodes: the other eliminated, solved, the other put back.
  template <Index M, bool KeepFront>
  SPANTREE_INLINE bool few_kept(Grid<T> w, Index first, Mask root_counts) {
    constexpr Index front = front_of(M), kept = KeepFront ? front : M - front;
    constexpr Index keep_at = KeepFront ? 0 : front, drop_at = KeepFront ? front : 0;
    const auto place = [](Index i) { return i < kept ? keep_at + i : drop_at + i - kept; };
    const bool leads = first == 0 && KeepFront;
    T cells[(M + 1) * M];
    const Grid<T> reduced{cells, M};
#pragma GCC unroll 8
    for (Index i = 0; i <= M; ++i)
#pragma GCC unroll 8
      for (Index j = 0; j < M; ++j)
        reduced.row(i)[j] = w.row(i == 0 ? 0 : 1 + place(i - 1))[place(j)];
#pragma GCC unroll 8
    for (Index q = M - 1; q >= kept; --q) {
      const T zero = Number<T>::constant(Pack{});
      const T pivot = sum_of_heads(cells + q, M, q) + select(root_counts, cells[q], zero);
      if (any(is_zero(pivot))) [[unlikely]] return false;
      if (leads) this->multiply(widened(Number<T>::value(pivot)));
      const T inverse = reciprocal(pivot);
#pragma GCC unroll 8
      for (Index i = 0; i <= q; ++i) {
        T* row = reduced.row(i);
        row[q] = row[q] * inverse;
#pragma GCC unroll 8
        for (Index j = 0; j < q; ++j)
          if (i != j + 1) row[j] = fma(row[q], reduced.row(q + 1)[j], row[j]);
      }
    }
    if (!few<kept>(reduced, first + keep_at, root_counts)) return false;
    if (!this->with_walks_) return true;
    const Grid<T> e{this->green_.walks.cells + first + keep_at, this->green_.walks.stride};
#pragma GCC unroll 8
    for (Index q = kept; q < M; ++q)
#pragma GCC unroll 8
      for (Index j = 0; j < kept; ++j) {
        T walk = fma(cells[q], e.cells[j], Number<T>::constant(Pack{}));
#pragma GCC unroll 8
        for (Index k = 0; k < q; ++k)
          walk = fma(reduced.row(1 + k)[q], e.row(1 + first + place(k))[j], walk);
        e.row(1 + first + place(q))[j] = walk;
      }
    return true;
  }

  void leaf(T weight, Index node) {
    const T one = Number<T>::constant(broadcast(1.0));
    const Mask none = is_zero(weight);
    this->dead_ |= none;
    weight = select(none, one, weight);
    if (node == 0) this->multiply(widened(Number<T>::value(weight)));
    if (!this->with_walks_) return;
    this->green_.at_root[node] = reciprocal(weight);
    this->green_.walks.row(0)[node] = one;
    this->green_.walks.row(1 + node)[node] = Number<T>::constant(Pack{});
  }
};

}  // namespace spantree::SPANTREE_ISA
