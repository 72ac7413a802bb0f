#include "threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace spantree {
namespace {

// One parallel_for: a counter that hands out indices, and the number of those finished.
struct Batch {
  std::ptrdiff_t count;
  const std::function<void(std::ptrdiff_t)>* body;
  std::atomic<std::ptrdiff_t> next{0}, finished{0};
  std::mutex mutex;
  std::condition_variable all_done;
  std::exception_ptr failure;

  void work() {
    for (std::ptrdiff_t i; (i = next.fetch_add(1)) < count;) {
      try {
        (*body)(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
      if (finished.fetch_add(1) + 1 == count) {
        const std::lock_guard lock(mutex);
        all_done.notify_all();
      }
    }
  }

  void wait() {
    // The others are finishing their last piece: worth a short spin before sleeping.
    for (int spin = 0; spin < 4000 && finished.load() < count; ++spin)
      if (spin % 64 == 63) std::this_thread::yield();
    std::unique_lock lock(mutex);
    all_done.wait(lock, [&] { return finished.load() == count; });
  }
};

class Pool {
 public:
  void offer(const std::shared_ptr<Batch>& batch, int helpers) {
    {
      const std::lock_guard lock(mutex_);
      while (workers_ < helpers && start_worker()) ++workers_;
      for (int i = 0; i < std::min(helpers, workers_); ++i) queue_.push_back(batch);
      waiting_.store(queue_.size());
    }
    helpers == 1 ? wake_.notify_one() : wake_.notify_all();
  }

 private:
  // Not every process may have as many threads as it likes; those there are do the work.
  bool start_worker() {
    try {
      std::thread([this] { serve(); }).detach();
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void serve() {
    for (;;) {
      linger();
      std::shared_ptr<Batch> batch;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !queue_.empty(); });
        batch = std::move(queue_.front());
        queue_.pop_front();
        waiting_.store(queue_.size());
      }
      batch->work();
    }
  }

  // To wake a sleeping thread takes as long as a batch of short sentences, and one call often comes
  // soon after another. So a thread looks around for a moment before it goes to sleep.
  void linger() const {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::microseconds(100);
    while (waiting_.load(std::memory_order_relaxed) == 0 && Clock::now() < until)
      for (int i = 0; i < 16; ++i) relax();
  }

  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Batch>> queue_;
  std::atomic<std::size_t> waiting_{0};  // the length of the queue, to be read without the lock
  int workers_ = 0;
};

// Never destroyed: its threads wait for ever. A forked child has none of them, so it starts anew.
std::atomic<Pool*> pool{nullptr};

Pool& the_pool() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); });
  (void)registered;
  Pool* current = pool.load();
  if (!current) {
    auto fresh = std::make_unique<Pool>();
    if (pool.compare_exchange_strong(current, fresh.get())) current = fresh.release();
  }
  return *current;
}

}  // namespace

void parallel_for(std::ptrdiff_t count, int threads,
                  const std::function<void(std::ptrdiff_t)>& body) {
  const auto helpers = static_cast<int>(std::min<std::ptrdiff_t>(threads, count) - 1);
  if (helpers <= 0) {
    for (std::ptrdiff_t i = 0; i < count; ++i) body(i);
    return;
  }
  const auto batch = std::make_shared<Batch>();
  batch->count = count;
  batch->body = &body;
  the_pool().offer(batch, helpers);
  batch->work();
  batch->wait();
  if (batch->failure) std::rethrow_exception(batch->failure);
}

}  // namespace spantree
