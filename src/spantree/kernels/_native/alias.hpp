// Walker's alias tables: a draw from a discrete distribution in one step.
//
// The outcomes share `size` slots of equal probability. A slot belongs to the outcome of its number up
// to a threshold and to another, its alias, beyond. An outcome lighter than a slot fills none but its
// own, so its probability keeps its digits; what rounding loses is lost among the others.
#pragma once

#include "philox.hpp"
#include "problem.hpp"

namespace spantree::SPANTREE_ISA {

struct Slot {
  std::uint64_t threshold;  // 2^64 times the share of the slot's own outcome
  std::int64_t alias;
};

SPANTREE_INLINE Index draw_slot(const Slot* slots, Index size, std::uint64_t bits) {
  __extension__ typedef unsigned __int128 Product;
  const Product product = static_cast<Product>(bits) * static_cast<std::uint64_t>(size);
  const auto which = static_cast<Index>(product >> 64);
  const Slot slot = slots[which];
  return static_cast<std::uint64_t>(product) < slot.threshold ? which : slot.alias;
}

// Fills `slots` for the weights exp(log_weights[0..size-1]). Overwrites log_weights, which holds whole
// packs, -inf beyond `size`; `list` is scratch of `size` numbers. Without a single outcome, any table.
inline void make_slots(double* log_weights, Index size, Slot* slots, std::int32_t* list) {
  Pack top = broadcast(-kInfinity);
  for (Index i = 0; i < size; i += kLanes) top = maximum(load(log_weights + i), top);
  top = over_lanes(Within{}, top);
  top = select(top > -kInfinity, top, Pack{});
  Pack sums{};
  for (Index i = 0; i < size; i += kLanes) {
    const Difference d = exact_difference(load(log_weights + i), top);
    const Pack weight = exp_or_zero(d, d.value >= kSmallestLogWeight);
    sums += weight;
    store(log_weights + i, weight);
  }
  double sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += sums[lane];

  double* share = log_weights;
  const double scale = static_cast<double>(size) / sum;
  Index light = 0, heavy = size;  // lists of both kinds, from either end
  for (Index i = 0; i < size; ++i) {
    share[i] *= scale;
    if (share[i] < 1.0)
      list[light++] = static_cast<std::int32_t>(i);
    else
      list[--heavy] = static_cast<std::int32_t>(i);
  }
  const auto fixed = [](double x) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x * 0x1p63)) << 1;
  };
  // Where rounding uses up the heavy ones too early, what is missing goes to one of them, and never to
  // an outcome that may have probability 0.
  const Index likely = heavy < size ? list[size - 1] : 0;
  while (light > 0 && heavy < size) {
    const Index large = list[heavy];
    double left = share[large];
    do {
      const Index small = list[--light];
      slots[small] = {fixed(share[small]), large};
      left = (left + share[small]) - 1.0;
    } while (left >= 1.0 && light > 0);
    share[large] = left;
    if (left < 1.0) ++heavy, list[light++] = static_cast<std::int32_t>(large);
  }
  while (light > 0) {
    const Index small = list[--light];
    slots[small] = {fixed(share[small]), likely};
  }
  for (; heavy < size; ++heavy) slots[list[heavy]] = {UINT64_MAX, list[heavy]};
}

}  // namespace spantree::SPANTREE_ISA
