// The numbers the elimination is run on.
//
// A number is a small struct of Packs, so that a lane of a number is a number of one sentence. The
// elimination asks for nothing but: fused multiply-add, product, sum, reciprocal, selection by lane,
// and a test for zero. It adds and multiplies non-negative values; only tangents carry signs.
//
//   Plain          a double
//   Dual<T, K>     a T and its derivatives in K directions: first order, K directions at a time.
//                  Dual<Dual<T>> is hyper-dual: second order; and so on to any order.
//   Wide           a double and an exponent of its own: what doubles cannot hold
#pragma once

#include "exponential.hpp"

namespace spantree::SPANTREE_ISA {

struct Plain {
  Pack x;
};

SPANTREE_INLINE Plain fma(Plain a, Plain b, Plain c) { return {fma(a.x, b.x, c.x)}; }
SPANTREE_INLINE Plain operator*(Plain a, Plain b) { return {a.x * b.x}; }
SPANTREE_INLINE Plain operator+(Plain a, Plain b) { return {a.x + b.x}; }
SPANTREE_INLINE Plain operator-(Plain a) { return {-a.x}; }
SPANTREE_INLINE Plain reciprocal(Plain a) { return {1.0 / a.x}; }
SPANTREE_INLINE Plain select(Mask m, Plain a, Plain b) { return {select(m, a.x, b.x)}; }
SPANTREE_INLINE Mask is_zero(Plain a) { return a.x == 0.0; }

// significand * 2^exponent. The significand is 0 or in 1..2 (in 1..4 after a product, which is not
// normalised). The exponent is an integer held in a double: no conversion to meet it, and spreads
// beyond 2^63 lose digits rather than overflow.
struct Wide {
  Pack significand, exponent;
};

inline constexpr double kZeroExponent = -1e306;

SPANTREE_INLINE Wide normalised(Pack significand, Pack exponent) {
  const Mask bits = (Mask)significand;
  const Mask zero = significand == 0.0;
  const Mask shift = ((bits >> 52) & 0x7ff) - 1023;
  const Mask unit = (bits & ~(INT64_C(0x7ff) << 52)) | (INT64_C(1023) << 52);
  return {select(zero, Pack{}, (Pack)unit),
          select(zero, broadcast(kZeroExponent), exponent + to_double(shift))};
}

// 2^n for n <= 0; 0 where 2^n could not be seen beside 1.
SPANTREE_INLINE Pack small_power_of_two(Pack n) {
  const Mask visible = n > -1000.0;
  return select(visible, power_of_two(select(visible, n, Pack{})), Pack{});
}

SPANTREE_INLINE Wide operator*(Wide a, Wide b) {
  return {a.significand * b.significand, a.exponent + b.exponent};
}
SPANTREE_INLINE Wide operator+(Wide a, Wide b) {
  const Pack top = maximum(a.exponent, b.exponent);
  return normalised(fma(a.significand, small_power_of_two(a.exponent - top),
                        b.significand * small_power_of_two(b.exponent - top)),
                    top);
}
SPANTREE_INLINE Wide fma(Wide a, Wide b, Wide c) { return a * b + c; }
SPANTREE_INLINE Wide operator-(Wide a) { return {-a.significand, a.exponent}; }
SPANTREE_INLINE Wide reciprocal(Wide a) {
  return normalised(1.0 / a.significand, -a.exponent);
}
SPANTREE_INLINE Wide select(Mask m, Wide a, Wide b) {
  return {select(m, a.significand, b.significand), select(m, a.exponent, b.exponent)};
}
SPANTREE_INLINE Mask is_zero(Wide a) { return a.significand == 0.0; }

template <class T, int K = 1>
struct Dual {
  T value;
  T tangent[K];
};

template <class T, int K>
SPANTREE_INLINE Dual<T, K> fma(const Dual<T, K>& a, const Dual<T, K>& b, const Dual<T, K>& c) {
  Dual<T, K> r;
  r.value = fma(a.value, b.value, c.value);
  for (int k = 0; k < K; ++k)
    r.tangent[k] = fma(a.value, b.tangent[k], fma(a.tangent[k], b.value, c.tangent[k]));
  return r;
}
template <class T, int K>
SPANTREE_INLINE Dual<T, K> operator*(const Dual<T, K>& a, const Dual<T, K>& b) {
  Dual<T, K> r;
  r.value = a.value * b.value;
  for (int k = 0; k < K; ++k)
    r.tangent[k] = fma(a.value, b.tangent[k], a.tangent[k] * b.value);
  return r;
}
template <class T, int K>
SPANTREE_INLINE Dual<T, K> operator+(const Dual<T, K>& a, const Dual<T, K>& b) {
  Dual<T, K> r;
  r.value = a.value + b.value;
  for (int k = 0; k < K; ++k) r.tangent[k] = a.tangent[k] + b.tangent[k];
  return r;
}
template <class T, int K>
SPANTREE_INLINE Dual<T, K> operator-(const Dual<T, K>& a) {
  Dual<T, K> r;
  r.value = -a.value;
  for (int k = 0; k < K; ++k) r.tangent[k] = -a.tangent[k];
  return r;
}
template <class T, int K>
SPANTREE_INLINE Dual<T, K> reciprocal(const Dual<T, K>& a) {
  Dual<T, K> r;
  r.value = reciprocal(a.value);
  // In this order: the tangent is of the size of the value, whose square may leave the range.
  for (int k = 0; k < K; ++k) r.tangent[k] = -(a.tangent[k] * r.value) * r.value;
  return r;
}
template <class T, int K>
SPANTREE_INLINE Dual<T, K> select(Mask m, const Dual<T, K>& a, const Dual<T, K>& b) {
  Dual<T, K> r;
  r.value = select(m, a.value, b.value);
  for (int k = 0; k < K; ++k) r.tangent[k] = select(m, a.tangent[k], b.tangent[k]);
  return r;
}
template <class T, int K>
SPANTREE_INLINE Mask is_zero(const Dual<T, K>& a) {
  return is_zero(a.value);
}

// What the rest of the engine needs to know of a number type: the base it is built on, how many
// Packs it takes, a constant of it, its value, and its derivative in all directions at once.
template <class T>
struct Number;

template <>
struct Number<Plain> {
  using Base = Plain;
  static constexpr int order = 0, directions = 0;
  SPANTREE_INLINE static Plain constant(Pack x) { return {x}; }
  SPANTREE_INLINE static Plain value(Plain a) { return a; }
  SPANTREE_INLINE static Plain scaled(Plain a, Pack factor) { return {a.x * factor}; }
  SPANTREE_INLINE static Plain derivative(Plain a, int) { return a; }
};

template <>
struct Number<Wide> {
  using Base = Wide;
  static constexpr int order = 0, directions = 0;
  SPANTREE_INLINE static Wide constant(Pack x) { return normalised(x, Pack{}); }
  SPANTREE_INLINE static Wide value(Wide a) { return a; }
  SPANTREE_INLINE static Wide scaled(Wide a, Pack factor) {
    return normalised(a.significand * factor, a.exponent);
  }
  SPANTREE_INLINE static Wide derivative(Wide a, int) { return a; }
};

template <class T, int K>
struct Number<Dual<T, K>> {
  using Base = typename Number<T>::Base;
  static constexpr int order = Number<T>::order + 1, directions = K;
  SPANTREE_INLINE static Dual<T, K> constant(Pack x) {
    Dual<T, K> r;
    r.value = Number<T>::constant(x);
    for (int k = 0; k < K; ++k) r.tangent[k] = Number<T>::constant(Pack{});
    return r;
  }
  SPANTREE_INLINE static Base value(const Dual<T, K>& a) { return Number<T>::value(a.value); }
  SPANTREE_INLINE static Dual<T, K> scaled(const Dual<T, K>& a, Pack factor) {
    Dual<T, K> r;
    r.value = Number<T>::scaled(a.value, factor);
    for (int k = 0; k < K; ++k) r.tangent[k] = Number<T>::scaled(a.tangent[k], factor);
    return r;
  }
  SPANTREE_INLINE static Base derivative(const Dual<T, K>& a, int k) {
    return Number<T>::derivative(a.tangent[k], 0);
  }
};

template <class T>
inline constexpr int kPlanes = sizeof(T) / sizeof(Pack);

// A weight w = exp(theta) as a function of theta + e1 U1 + e2 U2 + ...: w (1 + e1 U1) (1 + e2 U2)...
// `direction(q)` is the Pack of direction q; the K directions of a Dual<T, K> come first to last.
template <class T>
struct Seed {
  template <class Direction>
  SPANTREE_INLINE static T of(T base, Direction&&) {
    return base;
  }
};
template <class T, int K>
struct Seed<Dual<T, K>> {
  template <class Direction>
  SPANTREE_INLINE static Dual<T, K> of(typename Number<T>::Base base, Direction&& direction) {
    Dual<T, K> r;
    r.value = Seed<T>::of(base, direction);
    for (int k = 0; k < K; ++k)
      r.tangent[k] = Number<T>::scaled(r.value, direction(Number<T>::order + k));
    return r;
  }
};

SPANTREE_INLINE Wide widened(Plain a) { return normalised(a.x, Pack{}); }
SPANTREE_INLINE Wide widened(Wide a) { return a; }

// The double nearest to a number, 0 below the range of doubles.
SPANTREE_INLINE Pack rounded(Plain a) { return a.x; }
SPANTREE_INLINE Pack rounded(Wide a) {
  const Wide b = normalised(a.significand, a.exponent);
  const Pack top = select(b.exponent < 1000.0, b.exponent, broadcast(1000.0));
  // In two steps, so that a subnormal result is rounded once and not cut off.
  const Pack first = maximum(top, broadcast(-1000.0)), rest = top - first;
  const Mask visible = rest > -100.0;
  return select(visible,
                b.significand * power_of_two(first) *
                    power_of_two(select(visible, rest, Pack{})),
                Pack{});
}

}  // namespace spantree::SPANTREE_ISA
