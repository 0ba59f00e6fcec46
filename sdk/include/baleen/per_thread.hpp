/// \file A value for each thread, for plugins and the core: like thread_local, but where memory runs out that is an
/// error. At the first use of a thread_local glibc allocates too, and ends the process where it cannot.
#pragma once
#include <pthread.h>

#include <mutex>
#include <new>
#include <system_error>

namespace baleen::sdk {

/// Make it static. Destroys what a thread has when that thread ends, and all that is left when it is destroyed itself:
/// no other thread may use it or end then. [any thread]
template <class T>
class PerThread {
 public:
  /// Throws std::system_error where the process has no key left (it has 1,024).
  PerThread() {
    if (const int error = pthread_key_create(&key_, &PerThread::destroy))
      throw std::system_error(error, std::generic_category(), "a key for values of threads");
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;
  ~PerThread() {
    pthread_key_delete(key_);
    while (first_) destroy(first_);
  }

  /// This thread's value, made at its first call. Throws std::bad_alloc.
  T& here() {
    if (void* const known = pthread_getspecific(key_)) return static_cast<Node*>(known)->value;
    Node* const made = new Node{{}, this, nullptr, nullptr};
    if (pthread_setspecific(key_, made) != 0) {
      delete made;
      throw std::bad_alloc();
    }
    const std::lock_guard lock(mutex_);
    made->next = first_;
    if (first_) first_->before = made;
    first_ = made;
    return made->value;
  }

 private:
  struct Node {
    T value;
    PerThread* owner;
    Node *before, *next;
  };

  static void destroy(void* given) {
    Node* const node = static_cast<Node*>(given);
    {
      const std::lock_guard lock(node->owner->mutex_);
      (node->before ? node->before->next : node->owner->first_) = node->next;
      if (node->next) node->next->before = node->before;
    }
    delete node;
  }

  pthread_key_t key_{};
  std::mutex mutex_;
  Node* first_ = nullptr;
};

}  // namespace baleen::sdk
