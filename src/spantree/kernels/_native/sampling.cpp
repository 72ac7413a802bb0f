#include "sampling.hpp"

#include <algorithm>

#include "engine.hpp"
#include "threads.hpp"

namespace spantree {

void sample(const SamplingJob& job) {
  if (job.count == 0 || job.samples == 0) return;
  const Engine& best = engine();
  // Waking a thread costs some microseconds; a piece should be worth more than that.
  constexpr double kWorthAThread = 2e3;
  const double work = double(job.count) * job.n * (job.n + job.samples);
  const int threads = std::max(1, std::min(job.threads, int(std::min(work / kWorthAThread, 1e6))));

  // Fewer items than threads could share: share the samples of an item too.
  const std::ptrdiff_t wanted = threads > 1 ? 4 * threads : 1;
  const std::ptrdiff_t pieces =
      std::clamp<std::ptrdiff_t>((wanted + job.count - 1) / job.count, 1, job.samples);
  if (pieces == 1) {
    parallel_for(job.count, threads, [&](std::ptrdiff_t item) {
      Arena& arena = local_arena();
      best.sampler(job, item, arena)->draw(0, job.samples);
      arena.trim();
    });
    return;
  }
  std::vector<Arena> arenas(job.count);
  std::vector<std::unique_ptr<Sampler>> samplers(job.count);
  parallel_for(job.count, threads, [&](std::ptrdiff_t item) {
    samplers[item] = best.sampler(job, item, arenas[item]);
  });
  parallel_for(job.count * pieces, threads, [&](std::ptrdiff_t i) {
    const std::ptrdiff_t piece = i % pieces;
    samplers[i / pieces]->draw(job.samples * piece / pieces, job.samples * (piece + 1) / pieces);
  });
}

}  // namespace spantree
