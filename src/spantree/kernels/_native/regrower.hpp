// Trees without walks: eliminate all nodes, then put them back one after the other, growing a tree.
//
// To put node s back into a tree of the positions below it,
//
//   1. every edge i -> j of the tree was either itself before s went, or came through s. Those that
//      came through s, p_i[s] w^(s)_sj of their weight, are taken out, and j hangs on s instead;
//   2. s draws its head from p[s] among the nodes still connected with the root.
//
// Why this is exact, by Cayley's formula: docs/sampling.md. It adds, multiplies and divides, in at most
// O(N^2) a sample whatever the weights.
#pragma once

#include "factor.hpp"
#include "philox.hpp"

namespace spantree::SPANTREE_ISA {

SPANTREE_INLINE double sum_of_lanes(Pack x) {
  double sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += x[lane];
  return sum;
}

// a * b in units of 2^exponent.
SPANTREE_INLINE Pack product_in_units(Plain a, Plain b, double) { return a.x * b.x; }
SPANTREE_INLINE Pack product_in_units(Wide a, Wide b, double exponent) {
  return a.significand * b.significand * small_power_of_two(a.exponent + b.exponent - exponent);
}
SPANTREE_INLINE Pack product_in_units(Wide a, Plain b, double exponent) {
  return product_in_units(a, widened(b), exponent);
}

// The first of `size` ascending sums that exceeds x, if the last does; without a branch to mispredict.
SPANTREE_INLINE Index first_above(const double* sums, Index size, double x) {
  Index first = 0;
  while (size > 1) {
    const Index half = size / 2;
    first += sums[first + half - 1] <= x ? half : 0;
    size -= half;
  }
  return first;
}

// Draws trees from a factor. One thread's: it holds the tree that is being grown.
template <class T>
class Regrower {
 public:
  Regrower(const Factor<T>& factor, bool single_root, Arena& arena)
      : f_(factor), single_root_(single_root), root_row_(arena.take<Wide>(factor.cells)),
        sums_(arena.take<double>(factor.nodes + 1)) {
    for (auto* list : {&head_, &next_, &first_, &cut_, &grounded_})
      *list = arena.take<std::int32_t>(f_.nodes + 1);
  }

  // The head of every position. `child` is the position that hangs on the root; 0 for any number.
  const std::int32_t* draw(Index child, Philox& random) {
    child_ = child;
    if (single_root_) find_root_row();
    std::fill_n(first_, f_.nodes + 1, 0);
    std::fill_n(cut_, f_.nodes + 1, 0);
    hangs_on_root_ = 1;
    hang(1, 0, 1, random);
    for (Index s = 2; s <= f_.nodes; ++s) {
      const Index through = first_[s];
      for (Index j = through; j != 0; j = next_[j]) cut_[j] = static_cast<std::int32_t>(s);
      const Index head = through == 0 ? any_head(s, random) : connected_head(s, random);
      if (head == 0) hangs_on_root_ = s;
      hang(s, head, s, random);
      for (Index j = through, after; j != 0; j = after) {
        after = next_[j];
        hang(j, s, s, random);
      }
    }
    return head_;
  }

 private:
  // Gives j the head i in the tree of positions up to s, and decides when the edge will be taken out:
  // its weight is w_ij and what comes through each m > s, and one of these it is.
  void hang(Index j, Index i, Index s, Philox& random) {
    head_[j] = static_cast<std::int32_t>(i);
    const double u = random.uniform();
    Index until;
    if (i == 0 && single_root_) {
      const Scaled weight = product(at(root_row_, j - 1), f_.pivots[j]);
      until = end_of(root_row_, j, s, u, weight, {j == child_ ? 1.0 : 0.0, 0.0});
    } else {
      const Scaled weight = i < j ? product(at(f_.heads.row(i), j - 1), f_.pivots[j])
                                  : at(f_.through.row(j), i - 1);
      until = end_of(f_.heads.row(i), j, s, u, weight, at(f_.direct.row(i), j - 1));
    }
    next_[j] = first_[until];
    first_[until] = static_cast<std::int32_t>(j);
  }

  // The m that an edge to j of weight `total` came through, 0 for none, at the point `u` of its weight.
  template <class P>
  Index end_of(const P* p, Index j, Index s, double u, Scaled total, Scaled direct) const {
    const double target = u * total.significand;
    double sum = in_units(direct, total.exponent);
    if (target < sum) return 0;
    const T* through = f_.through.row(j);
    for (Index cell = s / kLanes; cell < f_.cells; ++cell) {
      Pack terms = product_in_units(p[cell], through[cell], total.exponent);
      for (Index lane = 0; lane < s - cell * kLanes; ++lane) terms[lane] = 0.0;
      const double more = sum_of_lanes(terms);
      if (target < sum + more) {
        for (Index lane = 0; lane < kLanes; ++lane)
          if (target < (sum += terms[lane])) return cell * kLanes + lane + 1;
      } else {
        sum += more;
      }
    }
    // Rounded off the end.
    if (direct.significand > 0.0) return 0;
    Index m = f_.nodes;
    while (m > s + 1 && at(p, m - 1).significand * at(through, m - 1).significand == 0.0) --m;
    return m > s ? m : 0;
  }

  Index any_head(Index s, Philox& random) const {
    const double* sums = f_.cumulative_heads(s);
    return first_above(sums, s, random.uniform() * sums[s - 1]);
  }

  Index connected_head(Index s, Philox& random) {
    if (single_root_ && cut_[hangs_on_root_] == s) return 0;
    // Mostly the first draw will do. Where it does not, the law among the connected nodes is the same
    // however often others were drawn before; so give up soon and look for them all.
    for (int attempt = 0; attempt < 2; ++attempt)
      if (const Index i = any_head(s, random); connected(i, s)) return i;
    find_connected(s);
    const Index first = single_root_;
    double top = 0.0, sum = 0.0;
    if constexpr (std::is_same_v<T, Wide>) {
      top = -kInfinity;
      for (Index i = first; i < s; ++i)
        if (grounded_[i] == 1) top = std::max(top, at(f_.heads.row(i), s - 1).exponent);
    }
    // Some edge that was taken out led from a connected node, so the sum is not 0.
    for (Index i = first; i < s; ++i) {
      if (grounded_[i] == 1) sum += in_units(at(f_.heads.row(i), s - 1), top);
      sums_[i] = sum;
    }
    return first + first_above(sums_ + first, s - first, random.uniform() * sum);
  }

  // Whether the path from i to the root has lost no edge to s.
  bool connected(Index i, Index s) const {
    for (; i != 0; i = head_[i])
      if (cut_[i] == s) return false;
    return true;
  }

  // Sets `grounded_` for all positions below s: 1 if connected, 2 if not.
  void find_connected(Index s) {
    std::fill_n(grounded_, s, 0);
    grounded_[0] = 1;
    for (Index start = 1; start < s; ++start) {
      Index i = start;
      for (; grounded_[i] == 0 && cut_[i] != s; i = head_[i]) continue;
      const std::int32_t found = cut_[i] == s ? 2 : grounded_[i];
      for (i = start; grounded_[i] == 0; i = head_[i]) {
        grounded_[i] = found;
        if (cut_[i] == s) break;
      }
    }
  }

  // p_root for the only edge that leaves the root, root -> child: in units that drop out.
  void find_root_row() {
    const Wide zero = Number<Wide>::constant(Pack{});
    std::fill_n(root_row_, f_.cells, zero);
    for (Index j = child_; j > 0; --j) {
      Wide sums = zero;
      for (Index cell = j / kLanes; cell <= (child_ - 1) / kLanes; ++cell)
        sums = fma(root_row_[cell], widened(f_.through.row(j)[cell]), sums);
      Wide total = Number<Wide>::constant(broadcast(j == child_));
      for (int lane = 0; lane < kLanes; ++lane) total = total + lane_of(&sums, lane);
      const Scaled pivot = f_.pivots[j];
      const Wide inverse = reciprocal(
          normalised(broadcast(pivot.significand), broadcast(pivot.exponent)));
      const Wide p = total * inverse;
      const Wide share = normalised(p.significand, p.exponent);
      put(root_row_, j - 1, at(&share, 0));
    }
  }

  const Factor<T>& f_;
  const bool single_root_;
  Index child_ = 0, hangs_on_root_ = 1;
  Wide* root_row_;
  double* sums_;
  std::int32_t *head_, *next_, *first_, *cut_, *grounded_;  // first_[m], next_: the edges m takes out
};

}  // namespace spantree::SPANTREE_ISA
