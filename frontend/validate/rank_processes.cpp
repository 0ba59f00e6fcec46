/// \file Shared memory between the ranks of a case: what they tell each other, and how each ended.
#include "frontend/validate/rank_processes.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "baleen/host.hpp"

namespace baleen::validate {
namespace {

constexpr std::size_t kMostRanks = 8, kMostItems = 256, kKeyBytes = 128, kValueBytes = 4096;

struct Item {
  std::array<char, kKeyBytes> key;
  std::array<char, kValueBytes> value;
  std::size_t key_size, value_size;
};

enum class End { none, passed, failed, skipped };

struct RankPage {
  Mark mark;
  End end = End::none;
  std::array<char, 2048> reason{};

  void tell(End how, std::string_view why) {
    const std::size_t size = std::min(why.size(), reason.size() - 1);
    std::copy_n(why.data(), size, reason.data());
    end = how;
  }
};

struct Meeting {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_over = false;
  std::size_t count = 0;
  std::array<Item, kMostItems> items;
  std::array<RankPage, kMostRanks> ranks;
};

struct Locked {
  explicit Locked(Meeting& given) : meeting(given) { pthread_mutex_lock(&meeting.mutex); }
  ~Locked() { pthread_mutex_unlock(&meeting.mutex); }
  Locked(const Locked&) = delete;
  Meeting& meeting;
};

Meeting& make_meeting() {
  void* const memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "memory for a rendezvous");
  Meeting& meeting = *new (memory) Meeting;  // it goes with the case's process
  pthread_mutexattr_t mutex;
  pthread_mutexattr_init(&mutex);
  pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&meeting.mutex, &mutex);
  pthread_condattr_t condition;
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&meeting.changed, &condition);
  return meeting;
}

baleen_status_t put_item(void* self, baleen_string_t key, baleen_string_t value) {
  const Locked locked(*static_cast<Meeting*>(self));
  Meeting& meeting = locked.meeting;
  if (meeting.count == kMostItems || key.size > kKeyBytes || value.size > kValueBytes) return BALEEN_NO_MEMORY;
  Item& item = meeting.items[meeting.count++];
  item.key_size = key.size;
  item.value_size = value.size;
  std::copy_n(key.data, key.size, item.key.data());
  std::copy_n(value.data, value.size, item.value.data());
  pthread_cond_broadcast(&meeting.changed);
  return BALEEN_OK;
}

std::int64_t get_item(void* self, baleen_string_t key, char* value, std::uint64_t capacity) {
  const Locked locked(*static_cast<Meeting*>(self));
  Meeting& meeting = locked.meeting;
  while (!meeting.is_over) {
    for (std::size_t i = 0; i < meeting.count; ++i) {
      const Item& item = meeting.items[i];
      if (std::string_view(item.key.data(), item.key_size) != view(key)) continue;
      std::copy_n(item.value.data(), std::min<std::uint64_t>(capacity, item.value_size), value);
      return static_cast<std::int64_t>(item.value_size);
    }
    pthread_cond_wait(&meeting.changed, &meeting.mutex);
  }
  return -1;
}

std::int32_t is_meeting_over(void* self) {
  const Locked locked(*static_cast<Meeting*>(self));
  return locked.meeting.is_over ? 1 : 0;
}

void wake_all(Meeting& meeting) {
  const Locked locked(meeting);
  meeting.is_over = true;
  pthread_cond_broadcast(&meeting.changed);
}

[[noreturn]] void be_rank(Meeting& meeting, std::int32_t rank, std::int32_t ranks,
                          const std::function<void(const RankPlace&, Mark&)>& body) {
  RankPage& page = meeting.ranks[static_cast<std::size_t>(rank)];
  const RankPlace place{
      rank,
      ranks,
      {sizeof(baleen_rendezvous_t), &meeting, rank, ranks, &put_item, &get_item, &is_meeting_over, nullptr, nullptr}};
  try {
    body(place, page.mark);
    page.tell(End::passed, {});
  } catch (const Skip& why) {
    page.tell(End::skipped, why.what());
  } catch (const std::exception& why) {
    page.tell(End::failed, why.what());
  }
  ::_exit(0);
}

/// How a rank ended, "" where all is well.
std::string end_of(const RankPage& page, int status) {
  const std::string call = page.mark.text(), where = call.empty() ? " between two calls" : " in " + call;
  if (WIFSIGNALED(status)) return std::string("killed by SIG") + ::sigabbrev_np(WTERMSIG(status)) + where;
  if (page.end == End::none)
    return "ends its process, with exit code " + std::to_string(WEXITSTATUS(status)) + "," + where;
  return page.end == End::failed ? page.reason.data() : "";
}

}  // namespace

void run_ranks(std::int32_t ranks, Mark& mark, const std::function<void(const RankPlace&, Mark&)>& body) {
  Meeting& meeting = make_meeting();
  std::vector<pid_t> running;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "a process for a rank");
    if (child == 0) be_rank(meeting, rank, ranks, body);
    running.push_back(child);
  }
  std::string first, skipped;
  for (std::int32_t left = ranks; left > 0;) {
    std::string doing;
    for (std::size_t rank = 0; rank < running.size(); ++rank) {
      if (running[rank] == 0) continue;
      const std::string name = "rank " + std::to_string(rank) + " of " + std::to_string(ranks);
      doing += (doing.empty() ? "" : ", ") + name + ": " + meeting.ranks[rank].mark.text();
      int status = 0;
      if (::waitpid(running[rank], &status, WNOHANG) != running[rank]) continue;
      running[rank] = 0;
      --left;
      const std::string why = end_of(meeting.ranks[rank], status);
      if (meeting.ranks[rank].end == End::skipped) skipped = meeting.ranks[rank].reason.data();
      if (first.empty() && !why.empty()) first = name + ": " + why;
      if (!why.empty()) wake_all(meeting);
    }
    mark.set(doing);
    if (!first.empty() || !skipped.empty()) break;  // the others may wait for it for ever; they go with the case
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  mark.set({});
  if (!skipped.empty()) throw Skip(skipped);
  if (!first.empty()) throw Failure(first);
}

}  // namespace baleen::validate
