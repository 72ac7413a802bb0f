// Register tiles: the one place where the flops are spent.
//
// Everything cubic in the elimination has the form
//
//     C[i, :] += sum over k of  a(i, k) * B[k, :]
//
// with C and B rows of cells and `a` a coefficient. A cell is one number type T, i.e. a Pack of
// numbers, and means one of two things (the layout):
//
//     Across   column j of several sentences side by side; a coefficient is a cell
//     Within   several neighbouring columns of one graph; a coefficient is one lane of a cell
//
// The order in which a given element receives its terms is fixed by the problem and not by the
// shape of the tile, so tiling never changes a bit of the result.
#pragma once

#include <type_traits>
#include <utility>

#include "numbers.hpp"

namespace spantree::SPANTREE_ISA {

using Index = std::ptrdiff_t;

struct Across {
  static constexpr int width = 1;  // columns a cell
  // The lanes of a cell that do not belong to this column.
  SPANTREE_INLINE static Mask others(Index cell, Index column) {
    return Mask{} - (cell != column);
  }
  template <class T>
  SPANTREE_INLINE static T coefficient(const T* row, Index column) {
    return row[column];
  }
};

template <class T>
SPANTREE_INLINE T lane_of(const T* cell, Index lane) {
  T result;
  const double* from = reinterpret_cast<const double*>(cell) + lane;
  double* to = reinterpret_cast<double*>(&result);
  for (int p = 0; p < kPlanes<T>; ++p) store(to + p * kLanes, broadcast(from[p * kLanes]));
  return result;
}

struct Within {
  static constexpr int width = kLanes;
  SPANTREE_INLINE static Mask others(Index cell, Index column) {
    Mask lanes{};
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = cell * kLanes + lane;
    return lanes != Mask{} + column;
  }
  template <class T>
  SPANTREE_INLINE static T coefficient(const T* row, Index column) {
    if constexpr (kPlanes<T> == 1)
      return lane_of(reinterpret_cast<const T*>(reinterpret_cast<const double*>(row) + column), 0);
    else
      return lane_of(row + column / kLanes, column % kLanes);
  }
};

// Accumulators must fit the registers beside the operands of one step.
template <class T, class Layout>
struct Shape {
  static constexpr int planes = kPlanes<T>;
  static constexpr bool within = Layout::width > 1;
  static constexpr bool wide = std::is_same_v<typename Number<T>::Base, Wide>;
  static constexpr int rows = wide          ? (planes > 2 ? 1 : 2)
                              : planes == 1 ? (kManyRegisters ? (within ? 8 : 4) : (within ? 4 : 2))
                              : planes == 2 ? (kManyRegisters ? 4 : 2)
                              : planes < 8  ? (kManyRegisters ? 2 : 1)
                                            : 1;
  static constexpr int columns = wide          ? (planes > 2 ? 1 : 2)
                                 : planes == 1 ? (within ? (kManyRegisters ? 3 : 2) : 4)
                                 : planes == 2 ? (kManyRegisters ? 3 : 2)
                                 : planes < 8  ? 2
                                               : 1;
};

template <class T, int M, int N>
struct Tile {
  T c[M][N];

  SPANTREE_INLINE void clear() {
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) c[i][j] = Number<T>::constant(Pack{});
  }

  // `row(i)` is where row i lies.
  template <class Row>
  SPANTREE_INLINE void load(Row&& row) {
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) {
      const T* from = row(i);
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) c[i][j] = from[j];
    }
  }

  SPANTREE_INLINE void forget_first_row(Mask lanes) {
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j)
      c[0][j] = select(lanes, Number<T>::constant(Pack{}), c[0][j]);
  }

  SPANTREE_INLINE void store(T* to, Index stride) const {
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) to[i * stride + j] = c[i][j];
  }

  // c[i] += sum_{k < depth} a(i, k) * b[k]
  template <class Coefficient>
  SPANTREE_INLINE void accumulate(Coefficient&& a, const T* b, Index stride, Index depth) {
    for (Index k = 0; k < depth; ++k, b += stride) {
      T row[N];
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) row[j] = b[j];
#pragma GCC unroll 8
      for (int i = 0; i < M; ++i) {
        const T x = a(i, k);
#pragma GCC unroll 8
        for (int j = 0; j < N; ++j) c[i][j] = fma(x, row[j], c[i][j]);
      }
    }
  }

  // c[i] += sum_{k < i} a(i, k) * c[k]: the triangle in which the rows of a tile feed each other
  template <class Coefficient>
  SPANTREE_INLINE void substitute(Coefficient&& a) {
#pragma GCC unroll 8
    for (int i = 1; i < M; ++i)
#pragma GCC unroll 8
      for (int k = 0; k < i; ++k) {
        const T x = a(i, k);
#pragma GCC unroll 8
        for (int j = 0; j < N; ++j) c[i][j] = fma(x, c[k][j], c[i][j]);
      }
  }
};

// Calls body(start, size) with compile-time sizes that cover 0..count in steps of Largest.
template <int Largest, class Body>
SPANTREE_INLINE void in_steps(Index count, Body&& body) {
  Index start = 0;
  for (; start + Largest <= count; start += Largest)
    body(start, std::integral_constant<int, Largest>{});
  if constexpr (Largest > 1) {
    const Index rest = count - start;
    [&]<int... R>(std::integer_sequence<int, R...>) {
      ((rest == R + 1 ? body(start, std::integral_constant<int, R + 1>{}) : void()), ...);
    }(std::make_integer_sequence<int, Largest - 1>{});
  }
}

}  // namespace spantree::SPANTREE_ISA
