// Trees of one item: for each sample the quicker of two exact ways, known before it is drawn.

#include "sampler.hpp"

#include <numeric>
#include <optional>

#include "regrower.hpp"
#include "walker.hpp"

namespace spantree::SPANTREE_ISA {
namespace {

// What a sample costs, in nanoseconds, roughly: it only decides between two exact ways.
constexpr double kStep = 18.0;
constexpr double cost_of_regrowing(double nodes) { return nodes * (100.0 + 0.75 * nodes); }

class ItemSampler final : public Sampler {
 public:
  ItemSampler(const SamplingJob& job, Index item, Arena& arena)
      : job_(job), item_(item), nodes_(job.length(item)),
        steps_(job.steps + item * job.n), roots_(arena.take<double>(nodes_ + 1)) {
    const double* at_root = job.at_root + item * job.n;
    roots_[0] = 0.0;
    std::partial_sum(at_root + 1, at_root + 1 + nodes_, roots_ + 1);
    if (roots_[nodes_] == 0.0) return;
    if (!job.single_root) total_steps_ = std::accumulate(steps_ + 1, steps_ + 1 + nodes_, 0.0);
    const auto [walks, regrows] = ways();
    if (walks) walker_.emplace(job, item, arena);
    if (regrows) prepare_regrowing(at_root, arena);
  }

  void draw(Index first_sample, Index last_sample) const override {
    Arena& arena = local_arena();
    const auto mark = arena.mark();
    auto* heads = arena.take<std::int32_t>(nodes_ + 1);
    auto* reached = arena.take<std::int64_t>(nodes_ + 1);
    std::fill_n(reached, nodes_ + 1, -1);
    std::optional<Regrower<Plain>> regrower;
    std::optional<Regrower<Wide>> wide_regrower;
    if (factor_) regrower.emplace(*factor_, job_.single_root, arena);
    if (wide_factor_) wide_regrower.emplace(*wide_factor_, job_.single_root, arena);

    for (Index sample = first_sample; sample < last_sample; ++sample) {
      std::int64_t* out = job_.heads + (sample * job_.count + item_) * job_.n;
      std::fill_n(out, job_.n, -1);
      if (roots_[nodes_] == 0.0) continue;
      Philox random(job_.seed, stream(sample));
      const Index child = job_.single_root ? child_of_root(random) : 0;
      if (walks(child)) {
        walker_->draw(child, random, heads, reached, sample);
        std::copy_n(heads + 1, nodes_, out + 1);
        continue;
      }
      const Index position = child ? position_[child] : 0;
      const std::int32_t* grown =
          regrower ? regrower->draw(position, random) : wide_regrower->draw(position, random);
      for (Index s = 1; s <= nodes_; ++s) out[order_[s]] = order_[grown[s]];
    }
    arena.release(mark);
  }

 private:
  std::uint64_t stream(Index sample) const {
    return static_cast<std::uint64_t>(sample * job_.count + item_);
  }

  Index child_of_root(Philox& random) const {
    const double target = random.uniform() * roots_[nodes_];
    return std::upper_bound(roots_ + 1, roots_ + nodes_ + 1, target) - roots_;
  }

  bool walks(Index child) const {
    if (job_.method != Method::kQuicker) return job_.method == Method::kWalk;
    const double steps = job_.single_root ? steps_[child] : total_steps_;
    return kStep * steps <= cost_of_regrowing(static_cast<double>(nodes_));
  }

  // Which ways some sample will go.
  std::pair<bool, bool> ways() const {
    if (!job_.single_root) return {walks(0), !walks(0)};
    bool some_walk = false, some_regrow = false;
    for (Index child = 1; child <= nodes_; ++child)
      if (roots_[child] > roots_[child - 1]) (walks(child) ? some_walk : some_regrow) = true;
    if (some_walk != some_regrow) return {some_walk, some_regrow};
    some_walk = some_regrow = false;
    for (Index sample = 0; sample < job_.samples && !(some_walk && some_regrow); ++sample) {
      Philox random(job_.seed, stream(sample));
      (walks(child_of_root(random)) ? some_walk : some_regrow) = true;
    }
    return {some_walk, some_regrow};
  }

  // Those likely to hang on the root first. So the first can be reached from everywhere, and the
  // root's edge to its child is soon in place.
  void prepare_regrowing(const double* at_root, Arena& arena) {
    order_ = arena.take<std::int32_t>(nodes_ + 1);
    position_ = arena.take<std::int32_t>(nodes_ + 1);
    std::iota(order_, order_ + nodes_ + 1, 0);
    std::stable_sort(order_ + 1, order_ + nodes_ + 1,
                     [&](auto a, auto b) { return at_root[a] > at_root[b]; });
    for (Index s = 0; s <= nodes_; ++s) position_[order_[s]] = static_cast<std::int32_t>(s);
    const auto mark = arena.mark();
    if (!job_.always_wide) {
      factor_ = factorise<Plain>(job_, item_, order_, arena);
      if (factor_->trusted) return;
      factor_.reset();
      arena.release(mark);
    }
    wide_factor_ = factorise<Wide>(job_, item_, order_, arena);
  }

  const SamplingJob& job_;
  const Index item_, nodes_;
  const double* steps_;  // by the root's child, or each node's share of them
  double* roots_;        // cumulative probabilities of the root's child
  double total_steps_ = 0.0;
  std::optional<Walker> walker_;
  std::optional<Factor<Plain>> factor_;
  std::optional<Factor<Wide>> wide_factor_;
  std::int32_t *order_ = nullptr, *position_ = nullptr;
};

}  // namespace

std::unique_ptr<Sampler> make_sampler(const SamplingJob& job, Index item, Arena& arena) {
  return std::make_unique<ItemSampler>(job, item, arena);
}

void random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block, Index count,
                 std::uint64_t* out) {
  Philox random(seed, stream, first_block);
  for (Index i = 0; i < count; ++i) out[i] = random.bits();
}

}  // namespace spantree::SPANTREE_ISA
