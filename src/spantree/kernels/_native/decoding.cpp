#include "decoding.hpp"

#include <algorithm>

#include "dispatch.hpp"
#include "labeling.hpp"
#include "threads.hpp"

namespace spantree {
namespace {

// Deals graphs out to threads, some at a time where they are small; `work` in nanoseconds a graph.
template <class Body>
void for_each_graph(std::ptrdiff_t count, int threads, double work, Body&& body) {
  constexpr double kWorthAThread = 2e4, kPiece = 1e4;
  const auto piece = static_cast<std::ptrdiff_t>(std::max(1.0, kPiece / work));
  const std::ptrdiff_t pieces = (count + piece - 1) / piece;
  const int useful = static_cast<int>(std::min<double>(threads, work * count / kWorthAThread));
  parallel_for(pieces, std::max(1, useful), [&](std::ptrdiff_t p) {
    for (std::ptrdiff_t i = p * piece; i < std::min(count, (p + 1) * piece); ++i) body(i);
  });
}

}  // namespace

void decode(const Decoding& job) {
  const Engine& best = engine();
  const double n = static_cast<double>(job.n), trees = static_cast<double>(job.trees);
  const double work = 200 + (trees == 1 ? 0.5 * n * n : 5 * trees * n * n);
  for_each_graph(job.count, job.threads, work,
                 [&](std::ptrdiff_t item) { best.decode(job, item, local_arena()); });
}

void label(const Labeling& job) {
  const double n = static_cast<double>(job.n), labels = static_cast<double>(job.labels);
  for_each_graph(job.items, job.threads, static_cast<double>(job.ranks) * n * (labels + 10),
                 [&](std::ptrdiff_t item) {
                   if (job.real_bytes == 4)
                     LabeledRanking<float>(job, item).run();
                   else
                     LabeledRanking<double>(job, item).run();
                 });
}

}  // namespace spantree
