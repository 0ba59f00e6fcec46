/// \file The emulated device: memory that the host cannot touch, and streams that run what is enqueued on a thread of
/// their own.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>

namespace baleen::emulated {

/// Memory of the device: protected from all access but that of a stream at work.
void* allocate(std::uint64_t bytes);
void release(void* base);

/// While one lives, the calling thread may touch the device's memory. A stream's thread keeps it until it has nothing
/// to do, waits, or calls the host's functions: opening and closing memory for each launch took a tenth of all time.
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};
/// Gives back what the calling thread keeps.
void drop_access();

/// Opaque; what a CUstream points to. Null is a stream too.
struct Queue;
Queue* make_queue();
void destroy_queue(Queue* queue);
/// Runs `work` in order, with access to the device's memory. What is enqueued after a failure is dropped.
void enqueue(Queue* queue, std::function<void()> work);
/// Until all is done.
void finish(Queue* queue);

/// What queues were given while they were captured, in order: which is one of those that their edges allow. Addresses
/// stay.
struct Captured {
  std::deque<std::function<void()>> works;
  bool valid = true, ended = false;
  Queue* origin = nullptr;
  std::map<Queue*, std::size_t> joined;  ///< the others, and how much had been captured when they were last given work
  std::set<Queue*> open;                 ///< those of them that nobody waits for yet
};
/// From now on work is kept, not run; null at the end where nothing was captured.
void begin_capture(Queue* queue);
/// Another queue takes part until the end.
void join_capture(Queue* queue, const std::shared_ptr<Captured>& captured);
std::shared_ptr<Captured> end_capture(Queue* queue);
/// While a capture is under way; else null. [the thread that captures]
std::shared_ptr<Captured> captured(Queue* queue);

/// The first failure of the device, which stays; 0 while there is none.
int failure();
void fail(int code);

/// Until `is_so()`, or the device fails. [without a lock] Who makes it so does that in `change`.
void wait_until(const std::function<bool()>& is_so);
void change(const std::function<void()>& how);

}  // namespace baleen::emulated

/// A stream's number, in the order in which streams were made; 0: the one that everybody has.
extern "C" unsigned long baleen_emulated_stream_number(void* stream);

/// For the emulated libraries beside the driver.
/// The argument is released when the work is never to run again.
extern "C" void baleen_emulated_enqueue(void* stream, void (*work)(void*), void* argument, void (*release)(void*));
