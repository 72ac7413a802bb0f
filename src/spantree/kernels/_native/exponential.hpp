// exp of a difference of log-weights, in lanes, good to the last digit.
#pragma once

#include "simd.hpp"

namespace spantree::SPANTREE_ISA {

// x - y, and what the rounding of it lost (Knuth's two-sum): the weight of an edge is the
// exponential of such a difference, and an error of half an ulp at 300 is one of 3e-14 in it.
struct Difference {
  Pack value, lost;
};

SPANTREE_INLINE Difference exact_difference(Pack x, Pack y) {
  const Pack d = x - y;
  const Pack back = d + y;
  return {d, (x - back) - (y - (back - d))};
}

// d = n ln 2 + r with |r| <= ln(2)/2: Cody and Waite's two-part ln 2.
struct Reduction {
  Pack n, power;  // an integer, and 2^n for n in -1022..1023
  Pack high, r;   // before and after the low part of ln 2 is taken off
};

inline constexpr double kLn2High = 6.93147180369123816490e-01;  // 32 bits, so n * high is exact
inline constexpr double kLn2Low = 1.90821492927058770002e-10;

SPANTREE_INLINE Reduction reduced(Pack d) {
  constexpr double kLog2e = 1.4426950408889634074;
  constexpr double kBiased = kShifter + 1023.0;  // leaves n and an exponent's bias in the low bits
  const Pack shifted = fma(d, broadcast(kLog2e), broadcast(kBiased));
  const Pack n = shifted - kBiased;
  const Pack high = fma(n, broadcast(-kLn2High), d);
  return {n, (Pack)((Mask)shifted << 52), high, fma(n, broadcast(-kLn2Low), high)};
}

// exp(r) = 1 + r + r^2 q(r), where q has degree 9 and minimises the relative error of the whole
// (Remez): 1.1e-17 with these coefficients, a tenth of a rounding.
SPANTREE_INLINE Pack exp_of_reduced(Pack r) {
  // Estrin's scheme; the last steps keep the leading 1 + r exact.
  const Pack r2 = r * r, r4 = r2 * r2;
  const Pack c2 = fma(r, broadcast(0.16666666666666413), broadcast(0.5000000000000011));
  const Pack c4 = fma(r, broadcast(0.008333333333494461), broadcast(0.041666666666530155));
  const Pack c6 = fma(r, broadcast(0.00019841269506578723), broadcast(0.0013888888943630134));
  const Pack c8 = fma(r, broadcast(2.755758637378518e-06), broadcast(2.480149309888739e-05));
  const Pack c10 = fma(r, broadcast(2.500006162553128e-08), broadcast(2.763024838532302e-07));
  const Pack top = fma(c10, r4, fma(c8, r2, c6));
  return fma(fma(top, r4, fma(c4, r2, c2)), r2, r) + 1.0;
}

// What the roundings of d and r have lost, as a factor 1 + low of exp(r).
SPANTREE_INLINE Pack lost_by(const Reduction& x, Difference d) {
  return fma(x.n, broadcast(-kLn2Low), x.high - x.r) + d.lost;
}

// exp(d) as significand * 2^exponent, significand in about [0.7, 1.42), for finite d.
struct ScaledExp {
  Pack significand, exponent;
};

SPANTREE_INLINE ScaledExp scaled_exp(Difference d) {
  const Reduction x = reduced(d.value);
  const Pack p = exp_of_reduced(x.r);
  return {fma(p, lost_by(x, d), p), x.n};
}

// Weights this far below their column's heaviest edge are outside the range of doubles.
inline constexpr double kSmallestLogWeight = -700.0;

// Down to here the rounding of a difference is below 4e-15, and not worth recovering.
inline constexpr double kCloseBy = -32.0;

// exp(x - y) where that is in kCloseBy..0.
SPANTREE_INLINE Pack exp_close_by(Pack difference) {
  const Reduction x = reduced(difference);
  return exp_of_reduced(x.r) * x.power;
}

// exp(d) where `representable` (d in -700..0), 0 elsewhere, even where d is not a number. The bits are
// those of exp_close_by where that can be used.
SPANTREE_INLINE Pack exp_or_zero(Difference d, Mask representable) {
  const Reduction x = reduced(select(representable, d.value, Pack{}));
  const Pack p = exp_of_reduced(x.r);
  const Pack low = select(representable & (d.value < kCloseBy), lost_by(x, d), Pack{});
  return select(representable, fma(p, low, p) * x.power, Pack{});
}

}  // namespace spantree::SPANTREE_ISA
