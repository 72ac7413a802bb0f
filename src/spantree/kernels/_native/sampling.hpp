// What sampling is asked for: trees of a batch of graphs, each drawn from a stream of random bits of
// its own.
#pragma once

#include "job.hpp"

namespace spantree {

enum class Method { kQuicker, kWalk, kRegrow };

// `samples` times the batch: heads are [sample][item][node], -1 for the root and padding, and the tree
// at [s][b] is a function of the seed, of s * count + b, and of graph b. Items whose `at_root` is all
// zero have no tree. `at_root` and `steps` are those of a Job on the same batch.
struct SamplingJob {
  const void* log_weights = nullptr;
  const std::int64_t* lengths = nullptr;  // null: all of length n - 1
  const double* at_root = nullptr;
  const double* steps = nullptr;
  std::int64_t* heads = nullptr;
  std::uint64_t seed = 0;
  std::ptrdiff_t count = 0, n = 0, samples = 0;
  int real_bytes = 8, threads = 1;
  bool single_root = true;
  // For tests: skip the arithmetic in doubles; go one way or the other.
  bool always_wide = false;
  Method method = Method::kQuicker;
  std::ptrdiff_t length(std::ptrdiff_t item) const { return lengths ? lengths[item] : n - 1; }
};

// All that the samples of one item share.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual void draw(std::ptrdiff_t first_sample, std::ptrdiff_t last_sample) const = 0;
};

void sample(const SamplingJob& job);

}  // namespace spantree
