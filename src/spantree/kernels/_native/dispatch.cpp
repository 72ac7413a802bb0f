#include "dispatch.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "pages.hpp"
#include "threads.hpp"

namespace spantree {

#if defined(__x86_64__)
namespace avx512 { extern const Engine engine; }
namespace avx2 { extern const Engine engine; }
namespace baseline { extern const Engine engine; }
#else
namespace neon { extern const Engine engine; }
#endif

namespace {

std::vector<const Engine*> available() {
  std::vector<const Engine*> engines;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    engines.push_back(&avx512::engine);
  if (fma) engines.push_back(&avx2::engine);
  engines.push_back(&baseline::engine);
#else
  engines.push_back(&neon::engine);
#endif
  return engines;
}

const std::vector<const Engine*>& engines() {
  static const std::vector<const Engine*> all = available();
  return all;
}

std::atomic<const Engine*> chosen{nullptr};

// Sentences of a padded size that is a multiple of 8 can be solved side by side or one at a time. It
// is a matter of speed alone: both ways agree to the last bit.
constexpr std::ptrdiff_t kShortestAlone = 24, kLongestTogether = 96;
constexpr std::ptrdiff_t kShortestShared = 128;  // worth several threads
bool can_be_alone(std::ptrdiff_t nodes) { return nodes >= kShortestAlone && nodes % 8 == 0; }

// The size a sentence is padded to: a function of its own length alone, so that neither its
// neighbours nor the width of the batch can change a bit of its result.
std::ptrdiff_t padded(std::ptrdiff_t length) {
  const std::ptrdiff_t step = length <= 8 ? 1 : length <= 12 ? 2 : length <= 32 ? 4 : 8;
  return (length + step - 1) / step * step;
}

// Items that one thread solves in one go.
struct Pack {
  std::ptrdiff_t nodes;  // padded
  const std::ptrdiff_t* items;
  int count;
  bool together;
};

// Cuts items, sorted by padded size, into packs.
std::vector<Pack> packs_of(const std::vector<std::ptrdiff_t>& items, const Job& job, int lanes) {
  std::vector<Pack> packs;
  for (std::size_t at = 0; at < items.size();) {
    const std::ptrdiff_t nodes = padded(job.length(items[at]));
    int count = 1;
    while (count < lanes && at + count < items.size() &&
           padded(job.length(items[at + count])) == nodes)
      ++count;
    // A pack costs the same however many lanes are idle.
    const bool together =
        !can_be_alone(nodes) || (nodes <= kLongestTogether && 2 * count > lanes);
    if (!together) count = 1;
    packs.push_back({nodes, &items[at], count, together});
    at += count;
  }
  return packs;
}

}  // namespace

const Engine& engine() {
  const Engine* current = chosen.load(std::memory_order_relaxed);
  return current ? *current : *engines().front();
}

void run(Job job) {
  const Engine& best = engine();
  prefer_large_pages(job.jet, std::size_t(job.copies * job.count * job.n * job.n) * job.real_bytes);
  std::vector<std::ptrdiff_t> items(job.count);
  for (std::ptrdiff_t i = 0; i < job.count; ++i) items[i] = i;
  // Longest first: the last piece of work should be a short one.
  if (job.lengths)
    std::stable_sort(items.begin(), items.end(), [&](auto a, auto b) {
      return padded(job.length(a)) > padded(job.length(b));
    });
  const std::vector<Pack> packs = packs_of(items, job, best.lanes);

  double work = 0;  // multiply-adds, roughly, with what is not cubic
  for (const Pack& p : packs)
    work += double(p.nodes) * p.nodes * (p.nodes + 30) * (p.together ? best.lanes : 1) * job.copies;
  // Waking a thread costs some microseconds; a piece should be worth more than that.
  constexpr double kWorthAThread = 2e5;
  const int useful = static_cast<int>(std::min<double>(job.threads, work / kWorthAThread));
  const int threads = std::max(1, useful);

  // Fewer packs than threads: what is left over goes into the packs, if these are large.
  if (!packs.empty() && packs.front().nodes >= kShortestShared)
    job.threads_within = std::max<int>(1, threads / int(packs.size()));

  parallel_for(static_cast<std::ptrdiff_t>(packs.size()), threads, [&](std::ptrdiff_t i) {
    Arena& arena = local_arena();
    const Pack& p = packs[i];
    if (p.together)
      best.many(job, p.items, p.count, p.nodes, arena);
    else
      best.one(job, *p.items, p.nodes, arena);
    arena.trim();
  });
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const Engine* e : engines()) names.emplace_back(e->name);
  return names;
}

void use_instruction_set(const std::string& name) {
  for (const Engine* e : engines())
    if (name == e->name) return chosen.store(e);
  throw std::invalid_argument("no such instruction set on this machine: " + name);
}

}  // namespace spantree
