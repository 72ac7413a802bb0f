// The engine for one instruction set: attempts in doubles, and numbers of wider range where those
// cannot be trusted.

#include "engine.hpp"

#include "decoder.hpp"
#include "expected_steps.hpp"
#include "one_graph.hpp"
#include "sampler.hpp"

namespace spantree::SPANTREE_ISA {
namespace {

// How a group of sentences fared.
struct Outcome {
  Mask trusted;    // lanes whose results were written
  bool irregular;  // something left the range of doubles, in some lane
};

// dlog Z/dw beyond which what doubles drop could show: all they drop is below 1e-318, and changes
// no marginal by more than that times this.
inline constexpr double kLargestTrusted = 0x1p50;

Mask all_of(Across, Mask m) { return m; }
Mask all_of(Within, Mask m) { return ~(Mask{} - any(~m)); }
template <class Layout>
Mask any_of(Layout layout, Mask m) {
  return ~all_of(layout, ~m);
}

double log_partition(Pack total, Pack lost, Wide product, int lane) {
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  const double exponent = product.exponent[lane];
  Pack sum = total, error = lost;
  add_exactly(broadcast(exponent * kLn2High), sum, error);
  return sum[lane] + (error[lane] + (exponent * kLn2Low + std::log(product.significand[lane])));
}

template <class T, class Layout>
class Attempt {
 public:
  using Base = typename Number<T>::Base;
  static constexpr int kResults = Number<T>::order == 0 ? 1 : Number<T>::directions;

  // `with_jet`: compute the marginals or their derivatives and not log Z alone. `copy`: the first of
  // the kResults copies of the directions to use.
  Attempt(const Job& job, const Group& group, Index nodes, Index copy, Arena& arena)
      : job_(job), group_(group), nodes_(nodes), cells_(nodes / Layout::width), copy_(copy),
        arena_(arena), size_((nodes + 1) * cells_) {}

  Outcome run(bool with_jet) {
    Pack* log_weights = read_log_weights();
    const Scale scale = scale_of<Layout>(arena_, log_weights, nodes_, job_.single_root);
    read_directions();
    // In place where a weight takes no more room than its logarithm: less to push through the caches.
    Grid<T> w{nullptr, cells_};
    if constexpr (std::is_same_v<T, Plain>)
      w.cells = reinterpret_cast<Plain*>(log_weights);
    else
      w.cells = arena_.take<T>(size_);
    const Reach reach = exponentiate<Layout>(log_weights, scale, directions_, nodes_, w);
    const Index stride = cells_ | 1;
    const Green<T> green{{arena_.take<T>(with_jet ? (nodes_ + 1) * stride : 0), stride},
                         arena_.take<T>(cells_)};

    left_range();
    auto solver = make_solver(Layout{}, green, with_jet);
    solver.solve(w, nodes_, 0, Lineage{Mask{} - !job_.single_root});
    const bool irregular = left_range();

    const Mask bad = any_of(Layout{}, reach.bad), dead = any_of(Layout{}, solver.dead()) & ~bad;
    Mask trusted = ~Mask{};
    if constexpr (std::is_same_v<Base, Plain>) {
      const Mask below = any_of(Layout{}, reach.below);
      if (irregular || any(below)) [[unlikely]] {
        const Mask near = any_of(Layout{}, not_far_below<Layout>(read_log_weights(), scale, nodes_));
        const Mask bounded = with_jet ? bounded_by(green, kLargestTrusted) & ~dead : Mask{};
        trusted = bad | (~near & bounded) | ((Mask{} - !irregular) & ~below);
      }
    }
    write_partition(scale, solver.partition(), bad, dead, trusted);
    if constexpr (Number<T>::order == 0)
      if (with_jet && job_.steps) write_steps(w, green, bad | dead, trusted);
    if (with_jet && job_.jet) write_jet(w, green, bad, dead, trusted);
    return {trusted, irregular};
  }

 private:
  ManyGraphs<T> make_solver(Across, Green<T> green, bool with_jet) const {
    return {arena_, green, with_jet};
  }
  OneGraph<T> make_solver(Within, Green<T> green, bool with_jet) const {
    return {arena_, green, with_jet, job_.threads_within};
  }

  Pack* read_log_weights() {
    Pack* cells = arena_.take<Pack>(size_);
    read_cells(Layout{}, job_, group_, job_.log_weights, Index{0}, nodes_, -kInfinity, cells);
    add_padding<Layout>(group_, nodes_, cells);
    return cells;
  }

  // The copies of all directions, each scaled to a largest entry between 1 and 2.
  void read_directions() {
    for (int q = 0; q < kDirections; ++q) {
      const int which = Number<T>::order == 1 ? 0 : q;
      const Index copy = Number<T>::order == 1 ? copy_ + q : copy_;
      Pack* cells = directions_[q] = arena_.take<Pack>(size_);
      read_cells(Layout{}, job_, group_, job_.directions[which], copy, nodes_, 0.0, cells);
      Pack top{};
      for (Index c = 0; c < size_; ++c) top = maximum(absolute(cells[c]), top);
      top = over_lanes(Layout{}, top);
      const Mask sound = (top > 1e-290) & (top < 1e290);
      unit_[q] = (Pack)((Mask)select(sound, top, broadcast(1.0)) & (INT64_C(0x7ff) << 52));
      const Pack factor = 1.0 / unit_[q];
      for (Index c = 0; c < size_; ++c) cells[c] *= factor;
    }
  }

  // Whether all of G is below `bound`: also for pairs that are no edge.
  Mask bounded_by(const Green<T>& green, double bound) const {
    Mask bounded = ~Mask{};
    for (Index i = 0; i <= nodes_; ++i)
      for (Index j = 0; j < cells_; ++j) {
        const Pack g = Number<T>::value(green.at_root[j]).x *
                       Number<T>::value(green.walks.row(i)[j]).x;
        bounded &= (g <= bound) | ~inside(Layout{}, group_, i, j);
      }
    return all_of(Layout{}, bounded);
  }

  void write_partition(const Scale& scale, Wide product, Mask bad, Mask dead, Mask trusted) const {
    for (int lane = 0; lane < group_.count; ++lane) {
      if (!trusted[lane]) continue;
      const Index item = group_.items[lane];
      job_.status[item] = bad[lane] ? kNotANumber : dead[lane] ? kNoTree : kFine;
      if (!job_.log_partition) continue;
      const double value = bad[lane]    ? std::numeric_limits<double>::quiet_NaN()
                           : dead[lane] ? -kInfinity
                                        : log_partition(scale.total, scale.lost, product, lane);
      if (job_.real_bytes == 4)
        static_cast<float*>(job_.log_partition)[item] = static_cast<float>(value);
      else
        static_cast<double*>(job_.log_partition)[item] = value;
    }
  }

  void write_steps(Grid<T> w, const Green<T>& green, Mask treeless, Mask trusted) {
    T* steps = arena_.take<T>(cells_);
    expected_steps<Layout>(arena_, w, green, group_, nodes_, job_.single_root, steps);
    Pack* rows = arena_.take<Pack>(2 * cells_);
    for (Index j = 0; j < cells_; ++j) {
      rows[j] = rounded(w.row(0)[j] * (green.at_root[j] * green.walks.row(0)[j]));
      rows[cells_ + j] = rounded(steps[j]);
    }
    const double* at_root = reinterpret_cast<const double*>(rows);
    const double* counts = reinterpret_cast<const double*>(rows + cells_);
    for (int lane = 0; lane < group_.count; ++lane) {
      if (!trusted[lane]) continue;
      const Index out = group_.items[lane] * job_.n;
      std::fill_n(job_.at_root + out, job_.n, 0.0);
      std::fill_n(job_.steps + out, job_.n, 0.0);
      for (Index j = 0; j < group_.lengths[lane] && !treeless[lane]; ++j) {
        const Index at = Layout::width == 1 ? j * kLanes + lane : j;
        job_.at_root[out + 1 + j] = at_root[at];
        job_.steps[out + 1 + j] = counts[at];
      }
    }
  }

  void write_jet(Grid<T> w, const Green<T>& green, Mask bad, Mask dead, Mask trusted) {
    Pack* row = arena_.take<Pack>(cells_);
    for (int k = 0; k < kResults; ++k) {
      Pack unit = broadcast(1.0);
      if constexpr (Number<T>::order == 1) unit = unit_[k];
      if constexpr (Number<T>::order > 1)
        for (int q = 0; q < kDirections; ++q) unit *= unit_[q];
      const auto cells_of = [&](Index i) {
        for (Index j = 0; j < cells_; ++j) {
          const T marginal = w.row(i)[j] * (green.at_root[j] * green.walks.row(i)[j]);
          row[j] = rounded(Number<T>::derivative(marginal, k)) * unit;
        }
        if (any(dead | bad)) [[unlikely]]
          for (Index j = 0; j < cells_; ++j) {
            row[j] = select(dead, Pack{}, row[j]);
            row[j] = select(bad, broadcast(std::numeric_limits<double>::quiet_NaN()), row[j]);
          }
        return row;
      };
      write_cells(Layout{}, job_, group_, job_.jet, copy_ + k, cells_of, trusted);
    }
  }

  static constexpr int kDirections =
      Number<T>::order == 0 ? 0 : Number<T>::order == 1 ? Number<T>::directions : Number<T>::order;

  const Job& job_;
  const Group& group_;
  const Index nodes_, cells_, copy_;
  Arena& arena_;
  const Index size_;
  Pack* directions_[kDirections + 1];
  Pack unit_[kDirections + 1];
};

template <class T, class Layout>
Outcome attempt(const Job& job, const Group& group, Index nodes, Index copy, Arena& arena) {
  const auto mark = arena.mark();
  Outcome outcome = Attempt<T, Layout>(job, group, nodes, copy, arena).run(job.order >= 0);
  // log Z alone cannot tell how far to trust it; the marginals can.
  if (job.order < 0 && any(~outcome.trusted) && std::is_same_v<T, Plain>)
    outcome = Attempt<T, Layout>(job, group, nodes, copy, arena).run(true);
  arena.release(mark);
  return outcome;
}

// Doubles first; what they could not do, one sentence at a time, because a sentence must fare the
// same in any company; then, together, with exponents of their own.
template <class Narrow, class WideNumber, class Layout>
void solve(const Job& job, const Index* items, int count, Index nodes, Index copy, Arena& arena) {
  Index rest[kLanes];
  int left = 0;
  if (job.always_wide) {
    left = count;
    std::copy_n(items, count, rest);
  } else {
    const Outcome together =
        attempt<Narrow, Layout>(job, group_of(job, items, count), nodes, copy, arena);
    for (int i = 0; i < count; ++i) {
      if (together.trusted[i]) continue;
      const bool alone = count > 1 && together.irregular &&
                         attempt<Narrow, Layout>(job, group_of(job, items + i, 1), nodes, copy,
                                                 arena).trusted[0];
      if (!alone) rest[left++] = items[i];
    }
  }
  if (left == 0) return;
  for (Index k = 0; k < Number<Narrow>::directions || k == 0; ++k)
    attempt<WideNumber, Layout>(job, group_of(job, rest, left), nodes, copy + k, arena);
}

template <class Layout>
void solve_all(const Job& job, const Index* items, int count, Index nodes, Arena& arena) {
  using First = Dual<Plain>;
  using FirstWide = Dual<Wide>;
  constexpr int kAtOnce = 4;
  if (job.order <= 0) return solve<Plain, Wide, Layout>(job, items, count, nodes, 0, arena);
  for (Index copy = 0; copy < job.copies;) {
    if (job.order == 1 && job.copies - copy >= kAtOnce) {
      solve<Dual<Plain, kAtOnce>, FirstWide, Layout>(job, items, count, nodes, copy, arena);
      copy += kAtOnce;
      continue;
    }
    if (job.order == 1)
      solve<First, FirstWide, Layout>(job, items, count, nodes, copy, arena);
    else if (job.order == 2)
      solve<Dual<First>, Dual<FirstWide>, Layout>(job, items, count, nodes, copy, arena);
    else
      solve<Dual<Dual<First>>, Dual<Dual<FirstWide>>, Layout>(job, items, count, nodes, copy,
                                                              arena);
    ++copy;
  }
}

void many(const Job& job, const Index* items, int count, Index nodes, Arena& arena) {
  solve_all<Across>(job, items, count, nodes, arena);
}

void one(const Job& job, Index item, Index nodes, Arena& arena) {
  solve_all<Within>(job, &item, 1, nodes, arena);
}

}  // namespace

#define SPANTREE_STRING_(x) #x
#define SPANTREE_STRING(x) SPANTREE_STRING_(x)
extern const Engine engine{SPANTREE_STRING(SPANTREE_ISA), kLanes, many, one, decode, make_sampler,
                            random_bits};

}  // namespace spantree::SPANTREE_ISA
