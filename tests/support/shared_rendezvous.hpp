/// \file A rendezvous in anonymous shared memory: serves ranks that are threads, and ranks that are forked processes.
#pragma once
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/plugin.hpp"
#include "baleen/transport.h"

namespace baleen::test {

/// Make it before forking. [any thread, any process]
class SharedRendezvous {
 public:
  /// `hosts`: a letter per rank, the same for ranks of one host; later ranks are on the last's. Empty: all are on one.
  explicit SharedRendezvous(const std::string& hosts = {}) : hosts_(hosts.begin(), hosts.end()) {
    if (!hosts_.empty()) hosts_.resize(std::max(kMostRanks, hosts_.size()), hosts_.back());
    void* memory = mmap(nullptr, sizeof(Store), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for a rendezvous");
    store_ = new (memory) Store;
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&store_->mutex, &mutex);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&store_->changed, &condition);
  }
  ~SharedRendezvous() { munmap(store_, sizeof(Store)); }
  SharedRendezvous(const SharedRendezvous&) = delete;

  /// The view of one rank; `host` is told of failures.
  baleen_rendezvous_t of(std::int32_t rank, std::int32_t ranks) {
    return {sizeof(baleen_rendezvous_t),
            store_,
            rank,
            ranks,
            &put,
            &get,
            &over,
            hosts_.empty() ? nullptr : hosts_.data(),
            nullptr};
  }
  /// Wakes all who wait.
  void fail() {
    const Locked locked(*store_);
    store_->failed = true;
    pthread_cond_broadcast(&store_->changed);
  }

 private:
  static constexpr std::size_t kMostRanks = 256;    // of those that hosts are told for
  static constexpr std::size_t kValueBytes = 4096;  // a network address of a transport may be long
  struct Item {
    std::array<char, 64> key;
    std::array<char, kValueBytes> value;
    std::size_t key_size, value_size;
  };
  struct Store {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool failed = false;
    std::size_t count = 0;
    std::array<Item, 256> items;
  };
  struct Locked {
    explicit Locked(Store& given) : store(given) { pthread_mutex_lock(&store.mutex); }
    ~Locked() { pthread_mutex_unlock(&store.mutex); }
    Locked(const Locked&) = delete;
    Store& store;
  };

  static baleen_status_t put(void* self, baleen_string_t key, baleen_string_t value) {
    Store& store = *static_cast<Store*>(self);
    const Locked locked(store);
    if (store.count == store.items.size() || key.size > 64 || value.size > kValueBytes) return BALEEN_NO_MEMORY;
    Item& item = store.items[store.count++];
    std::copy_n(key.data, item.key_size = key.size, item.key.data());
    std::copy_n(value.data, item.value_size = value.size, item.value.data());
    pthread_cond_broadcast(&store.changed);
    return BALEEN_OK;
  }
  static std::int32_t over(void* self) {
    Store& store = *static_cast<Store*>(self);
    const Locked locked(store);
    return store.failed ? 1 : 0;
  }
  static std::int64_t get(void* self, baleen_string_t key, char* value, std::uint64_t capacity) {
    Store& store = *static_cast<Store*>(self);
    const Locked locked(store);
    while (true) {
      if (store.failed) return -1;
      for (std::size_t i = 0; i < store.count; ++i) {
        const Item& item = store.items[i];
        if (std::string_view(item.key.data(), item.key_size) != view(key)) continue;
        std::copy_n(item.value.data(), std::min<std::uint64_t>(capacity, item.value_size), value);
        return static_cast<std::int64_t>(item.value_size);
      }
      pthread_cond_wait(&store.changed, &store.mutex);
    }
  }

  Store* store_;
  std::vector<std::int32_t> hosts_;
};

}  // namespace baleen::test
