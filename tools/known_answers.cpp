// A program that asks the kernel questions with known answers, where no Python is.
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "dispatch.hpp"

namespace {

int failures = 0;

void check(bool fine, const char* what, long n) {
  if (!fine) std::printf("WRONG: %s at N = %ld\n", what, n), ++failures;
}

// Cayley: N^(N-1) trees with one edge from the root, (N+1)^(N-1) in all; all edges alike.
void uniform(long nodes, bool single_root, bool wide, int order, int threads) {
  const long n = nodes + 1, count = 5;
  std::vector<double> weights(count * n * n), direction(count * n * n, 1.0), jet(count * n * n);
  std::vector<double> log_partition(count);
  std::vector<std::int8_t> status(count);
  spantree::Job job;
  job.log_weights = weights.data(), job.log_partition = log_partition.data();
  job.directions[0] = job.directions[1] = direction.data();
  job.jet = jet.data(), job.status = status.data(), job.count = count, job.n = n;
  job.order = order, job.single_root = single_root, job.always_wide = wide, job.threads = threads;
  spantree::run(job);
  const double expected = (nodes - 1) * std::log(double(single_root ? nodes : nodes + 1));
  for (long b = 0; b < count; ++b) {
    check(status[b] == spantree::kFine, "status", nodes);
    check(std::abs(log_partition[b] - expected) <= 1e-12 * std::max(1.0, expected), "log Z", nodes);
    for (long j = 1; j < n; ++j) {
      double total = 0;
      for (long i = 0; i < n; ++i) total += jet[(b * n + i) * n + j];
      // All trees have as many edges: a direction of ones changes nothing.
      check(std::abs(total - (order == 0)) <= 1e-12, "sum of a column", nodes);
      const double root = single_root ? 1.0 / nodes : 2.0 / (nodes + 1);
      if (order == 0) check(std::abs(jet[b * n * n + j] - root) < 1e-13, "root edge", nodes);
    }
  }
}

void one_tree(long nodes) {  // a chain, and the best tree of it
  const long n = nodes + 1;
  std::vector<double> weights(n * n, -std::numeric_limits<double>::infinity()), jet(n * n);
  double log_partition, score;
  std::int8_t status;
  for (long j = 1; j < n; ++j) weights[(j == 1 ? 0 : j - 1) * n + j] = -300.0 * j;
  spantree::Job job;
  job.log_weights = weights.data(), job.log_partition = &log_partition, job.jet = jet.data();
  job.status = &status, job.count = 1, job.n = n;
  spantree::run(job);
  check(status == spantree::kFine, "status of a chain", nodes);
  check(std::abs(log_partition / (-150.0 * nodes * n) - 1) < 1e-12, "log Z of a chain", nodes);
  std::vector<std::int64_t> heads(n);
  spantree::Decoding decoding;
  decoding.log_weights = weights.data(), decoding.heads = heads.data(), decoding.scores = &score;
  decoding.status = &status, decoding.count = 1, decoding.n = n;
  spantree::decode(decoding);
  check(score == -150.0 * nodes * n, "score of a chain", nodes);
  for (long j = 1; j < n; ++j) {
    check(heads[j] == j - 1, "head in a chain", nodes);
    check(jet[(j - 1) * n + j] == 1.0, "marginal in a chain", nodes);
  }
}

}  // namespace

int main() {
  for (long nodes : {1, 2, 3, 5, 8, 11, 16, 24, 40, 57, 96, 150})
    for (bool single_root : {true, false})
      for (bool wide : {false, true})
        for (int order : {0, 1, 2})
          if (!wide || nodes <= 24) uniform(nodes, single_root, wide, order, 2);
  for (long nodes : {1, 4, 24, 56, 100, 130}) one_tree(nodes);
  std::printf("%s: %s\n", spantree::engine().name, failures ? "FAILED" : "all fine");
  return failures != 0;
}
