// The Python module spantree.kernels._native. Tensors arrive as addresses: the one caller,
// kernels/native.py, has made sure of their type, shape, order and life.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "dispatch.hpp"
#include "engine.hpp"

namespace nb = nanobind;

namespace {

template <class T>
T* pointer(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

bool all_fine(const std::int8_t* status, std::ptrdiff_t count) {
  return std::all_of(status, status + count,
                     [](std::int8_t s) { return s == spantree::kFine; });
}

}  // namespace

NB_MODULE(_native, m) {
  m.attr("MAX_ORDER") = spantree::kMaxOrder;
  m.attr("NO_TREE") = static_cast<int>(spantree::kNoTree);
  m.attr("NOT_A_NUMBER") = static_cast<int>(spantree::kNotANumber);
  m.def(
      "run",
      [](std::uintptr_t log_weights, std::uintptr_t lengths,
         const std::vector<std::uintptr_t>& directions, std::uintptr_t log_partition,
         std::uintptr_t jet, std::uintptr_t status, std::uintptr_t at_root, std::uintptr_t steps,
         std::ptrdiff_t count, std::ptrdiff_t n, std::ptrdiff_t copies, int real_bytes, int order, bool single_root, bool always_wide,
         int threads) {
        spantree::Job job;
        job.log_weights = pointer<const void>(log_weights);
        job.lengths = pointer<const std::int64_t>(lengths);
        for (std::size_t q = 0; q < directions.size() && q < spantree::kMaxOrder; ++q)
          job.directions[q] = pointer<const void>(directions[q]);
        job.log_partition = pointer<void>(log_partition);
        job.jet = pointer<void>(jet);
        job.status = pointer<std::int8_t>(status);
        job.at_root = pointer<double>(at_root), job.steps = pointer<double>(steps);
        job.count = count, job.n = n, job.copies = copies;
        job.real_bytes = real_bytes, job.order = order, job.threads = threads;
        job.single_root = single_root, job.always_wide = always_wide;
        const nb::gil_scoped_release release;
        spantree::run(job);
        return all_fine(job.status, count);
      },
      nb::arg("log_weights"), nb::arg("lengths"), nb::arg("directions"), nb::arg("log_partition"),
      nb::arg("jet"), nb::arg("status"), nb::arg("at_root"), nb::arg("steps"), nb::arg("count"),
      nb::arg("n"), nb::arg("copies"), nb::arg("real_bytes"), nb::arg("order"),
      nb::arg("single_root"), nb::arg("always_wide"), nb::arg("threads"));
  m.def(
      "sample",
      [](std::uintptr_t log_weights, std::uintptr_t lengths, std::uintptr_t at_root,
         std::uintptr_t steps, std::uintptr_t heads, std::uint64_t seed, std::ptrdiff_t count,
         std::ptrdiff_t n, std::ptrdiff_t samples, int real_bytes, bool single_root,
         bool always_wide, int method, int threads) {
        spantree::SamplingJob job;
        job.log_weights = pointer<const void>(log_weights);
        job.lengths = pointer<const std::int64_t>(lengths);
        job.at_root = pointer<const double>(at_root), job.steps = pointer<const double>(steps);
        job.heads = pointer<std::int64_t>(heads);
        job.seed = seed, job.count = count, job.n = n, job.samples = samples;
        job.real_bytes = real_bytes, job.threads = threads;
        job.single_root = single_root, job.always_wide = always_wide;
        job.method = static_cast<spantree::Method>(method);
        const nb::gil_scoped_release release;
        spantree::sample(job);
      },
      nb::arg("log_weights"), nb::arg("lengths"), nb::arg("at_root"), nb::arg("steps"),
      nb::arg("heads"), nb::arg("seed"), nb::arg("count"), nb::arg("n"), nb::arg("samples"),
      nb::arg("real_bytes"), nb::arg("single_root"), nb::arg("always_wide"), nb::arg("method"),
      nb::arg("threads"));
  m.def(
      "random_bits",
      [](std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block, std::size_t count) {
        std::vector<std::uint64_t> bits(count);
        spantree::engine().random_bits(seed, stream, first_block, std::ptrdiff_t(count),
                                       bits.data());
        return bits;
      },
      nb::arg("seed"), nb::arg("stream"), nb::arg("first_block"), nb::arg("count"));
  m.def(
      "decode",
      [](std::uintptr_t log_weights, std::uintptr_t lengths, std::uintptr_t heads,
         std::uintptr_t scores, std::uintptr_t status, std::ptrdiff_t count, std::ptrdiff_t n,
         std::ptrdiff_t trees, int real_bytes, bool single_root, int threads) {
        spantree::Decoding job;
        job.log_weights = pointer<const void>(log_weights);
        job.lengths = pointer<const std::int64_t>(lengths);
        job.heads = pointer<std::int64_t>(heads);
        job.scores = pointer<double>(scores);
        job.status = pointer<std::int8_t>(status);
        job.count = count, job.n = n, job.trees = trees;
        job.real_bytes = real_bytes, job.single_root = single_root, job.threads = threads;
        const nb::gil_scoped_release release;
        spantree::decode(job);
        return all_fine(job.status, count);
      },
      nb::arg("log_weights"), nb::arg("lengths"), nb::arg("heads"), nb::arg("scores"),
      nb::arg("status"), nb::arg("count"), nb::arg("n"), nb::arg("trees"), nb::arg("real_bytes"),
      nb::arg("single_root"), nb::arg("threads"));
  m.def(
      "label",
      [](std::uintptr_t log_weights, std::uintptr_t lengths, std::uintptr_t trees,
         std::uintptr_t heads, std::uintptr_t labels, std::uintptr_t scores, std::ptrdiff_t ranks,
         std::ptrdiff_t items, std::ptrdiff_t n, std::ptrdiff_t kinds, int real_bytes,
         int threads) {
        spantree::Labeling job;
        job.log_weights = pointer<const void>(log_weights);
        job.lengths = pointer<const std::int64_t>(lengths);
        job.trees = pointer<const std::int64_t>(trees);
        job.out_heads = pointer<std::int64_t>(heads);
        job.out_labels = pointer<std::int64_t>(labels);
        job.scores = pointer<double>(scores);
        job.ranks = ranks, job.items = items, job.n = n, job.labels = kinds;
        job.real_bytes = real_bytes, job.threads = threads;
        const nb::gil_scoped_release release;
        spantree::label(job);
      },
      nb::arg("log_weights"), nb::arg("lengths"), nb::arg("trees"), nb::arg("heads"),
      nb::arg("labels"), nb::arg("scores"), nb::arg("ranks"), nb::arg("items"), nb::arg("n"),
      nb::arg("kinds"), nb::arg("real_bytes"), nb::arg("threads"));
  m.def("instruction_sets", &spantree::instruction_sets);
  m.def("use_instruction_set", &spantree::use_instruction_set, nb::arg("name"));
}
