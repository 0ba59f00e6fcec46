/// \file The scripts of ranks: places, keys, fences, threads, and how ranks are lost.
#include "frontend/validate/launched_rank.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "baleen/host.hpp"

namespace baleen::validate {
namespace {

constexpr int kFailed = 9, kBadInput = 2, kPeerLost = 4;

void nap(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// False where it is there already.
bool make_file(const std::string& name) {
  const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  ::close(file);
  return true;
}

struct TakenValue {
  int times = 0;
  std::string value;

  static void take(void* self, baleen_string_t value) {
    auto& taken = *static_cast<TakenValue*>(self);
    ++taken.times;
    taken.value.assign(view(value));
  }
};

/// A rank in the hands of a script.
class Rank {
 public:
  Rank(const Launcher& launcher, const baleen_place_t& place)
      : rank(place.rank),
        ranks(place.ranks),
        plugin(launcher.plugin()),
        table(launcher.table()),
        self(launcher.get()) {}

  baleen_status_t try_put(const std::string& key, const std::string& value) const {
    return plugin.call("`put`", table.put, self, abi(key), abi(value));
  }
  void put(const std::string& key, const std::string& value) const {
    ok("`put` of `" + key + "`", try_put(key, value));
  }
  baleen_status_t try_get(const std::string& key, TakenValue& taken) const {
    return plugin.call("`get` of `" + key + "`", table.get, self, abi(key), &TakenValue::take,
                       static_cast<void*>(&taken));
  }
  std::string get(const std::string& key) const {
    TakenValue taken;
    ok("`get` of `" + key + "`", try_get(key, taken));
    if (taken.times != 1)
      throw Failure("`get` calls `take` " + std::to_string(taken.times) + " times; it is to be called once");
    return taken.value;
  }
  baleen_status_t try_fence(const std::string& name) const {
    return plugin.call("`fence` `" + name + "`", table.fence, self, abi(name));
  }
  void fence(const std::string& name) const { ok("`fence` `" + name + "`", try_fence(name)); }
  void finish() const { ok("`finish`", plugin.call("`finish`", table.finish, self)); }
  void fail(baleen_status_t status, const std::string& message) const {
    const baleen_rank_failure_t failure = {sizeof failure, status, 0, abi(message), {}, nullptr, 0};
    plugin.call("`fail`", table.fail, self, &failure);
  }
  void beat(std::int64_t step) const {
    if (!table.beat) return;
    const baleen_progress_t progress = {step, step, "training", "train", 1, 1, "all_reduce of `w`"};
    plugin.call("`beat`", table.beat, self, &progress);
  }
  void ok(const std::string& name, baleen_status_t status) const {
    if (status != BALEEN_OK) throw Failure(name + " fails: " + plugin.refusal(name, status).message);
  }

  const std::int32_t rank, ranks;
  const Opened& plugin;
  const baleen_launcher_t& table;
  void* const self;
};

std::string numbered(const char* name, std::int64_t number) { return name + std::to_string(number); }

int play_places(const Rank& rank) {
  if (!make_file(numbered("rank.", rank.rank)))
    throw Failure("two processes are told that they are rank " + std::to_string(rank.rank));
  rank.put(numbered("place ", rank.rank), numbered("", rank.rank));
  for (std::int32_t other = 0; other < rank.ranks; ++other)
    if (rank.get(numbered("place ", other)) != numbered("", other))
      throw Failure("a key that rank " + std::to_string(other) + " has set gives another value");
  nap(rank.rank * 20);  // they do not end together
  rank.finish();
  return 0;
}

int play_keys(const Rank& rank) {
  std::string large(std::size_t{1} << 20, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 >> 3);
  const std::pair<std::string, std::string> items[] = {{"plain", "first"},
                                                       {"empty", ""},
                                                       {"bytes", std::string("\0\n\xff \0", 5)},
                                                       {"a key/with%2f \"signs\"", "x"},
                                                       {"na\xc3\xafve", "other"},
                                                       {"large", large}};
  if (rank.rank == 0) nap(50);  // the others wait
  for (const auto& [key, value] : items) {
    if (rank.rank == 0) rank.put(key, value);
    if (rank.get(key) != value) throw Failure("`get` of `" + key + "` gives another value than was put");
  }
  rank.fence("keys are there");
  const baleen_status_t status = rank.rank == rank.ranks - 1 ? rank.try_put("plain", "second") : BALEEN_INVALID;
  if (status != BALEEN_INVALID)
    throw Failure("`put` of a key that is set returns " + std::to_string(status) + " and not INVALID");
  if (rank.rank == rank.ranks - 1) rank.plugin.refusal("`put`", status);
  rank.fence("again");
  if (rank.get("plain") != "first") throw Failure("a second `put` changes a key");
  rank.finish();
  return 0;
}

int play_fences(const Rank& rank) {
  for (int turn = 0; turn < 20; ++turn) {
    const std::string here = numbered("turn.", turn) + ".";
    if (turn % rank.ranks == rank.rank) nap(5);
    make_file(here + std::to_string(rank.rank));
    rank.fence(turn % 3 == 0 ? "other" : "name");
    for (std::int32_t other = 0; other < rank.ranks; ++other)
      if (::access((here + std::to_string(other)).c_str(), F_OK) != 0)
        throw Failure("`fence` returns before every rank has come to it, in turn " + std::to_string(turn + 1));
  }
  rank.finish();
  return 0;
}

/// The functions of a rank may be called from any thread.
int play_threads(const Rank& rank) {
  constexpr int kThreadCount = 4, kTurns = 10;
  std::mutex mutex;
  std::string wrong;
  std::vector<std::thread> threads;
  const auto key = [](std::int32_t of, int thread, int turn) {
    return numbered("of ", of) + numbered(" thread ", thread) + numbered(" turn ", turn);
  };
  for (int thread = 0; thread < kThreadCount; ++thread)
    threads.emplace_back([&, thread] {
      try {
        for (int turn = 0; turn < kTurns; ++turn) {
          rank.beat(turn);
          rank.put(key(rank.rank, thread, turn), key(rank.rank, thread, turn));
          const std::string asked = key((rank.rank + 1) % rank.ranks, thread, turn);
          if (rank.get(asked) != asked) throw Failure("with four threads `get` gives the value of another key");
        }
      } catch (const std::exception& why) {
        const std::lock_guard lock(mutex);
        wrong = why.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (!wrong.empty()) throw Failure(wrong);
  rank.finish();
  return 0;
}

struct Loss {
  std::atomic<int> times{0};
  std::atomic<bool> has_reason{false};

  static void lost(void* self, baleen_string_t reason) {
    auto& loss = *static_cast<Loss*>(self);
    loss.has_reason = reason.size > 0;
    ++loss.times;
  }
};

void expect_lost(const Rank& rank, const std::string& name, baleen_status_t status, bool has_cause) {
  if (status != BALEEN_PEER_LOST)
    throw Failure("once a rank is lost, " + name + " returns " + std::to_string(status) + " and not PEER_LOST");
  const std::string why = rank.plugin.refusal(name, status).message;
  if (has_cause && why.find(kCause) == why.npos)
    throw Failure(name + " does not tell the first cause of the loss, which is `" + kCause + "`; it says: " + why);
}

int see_loss(const Rank& rank, bool has_cause) {
  static Loss loss;  // `lost` may be called until `destroy`
  if (rank.table.watch)
    rank.ok("`watch`",
            rank.plugin.call("`watch`", rank.table.watch, rank.self, &Loss::lost, static_cast<void*>(&loss)));
  rank.fence("all are there");
  TakenValue taken;
  expect_lost(rank, "`get`", rank.try_get("never set", taken), has_cause);
  expect_lost(rank, "`fence`", rank.try_fence("never reached"), has_cause);
  for (int turn = 0; rank.table.watch && loss.times == 0; ++turn) {
    if (turn == 100) throw Failure("what `watch` was given is not called within 1 s of a loss");
    nap(10);
  }
  nap(50);
  if (rank.table.watch && (loss.times != 1 || !loss.has_reason))
    throw Failure("what `watch` was given is called " + std::to_string(loss.times) + " times" +
                  (loss.has_reason ? "; it is to be called once" : ", without a reason"));
  rank.fail(BALEEN_PEER_LOST, "another rank is lost");
  return kPeerLost;
}

int play_loss(const Rank& rank, std::string_view script) {
  if (rank.rank != 1) return see_loss(rank, script == "lost");
  rank.fence("all are there");
  nap(20);  // the others wait by now
  if (script == "killed") ::raise(SIGKILL);
  if (script == "unfinished") return 0;
  rank.fail(BALEEN_INVALID, kCause);
  return kBadInput;
}

}  // namespace

OneHost::OneHost(std::int32_t ranks, std::string_view word)
    : host{abi(std::string_view("localhost")), {}, ranks, 0},
      job{sizeof(baleen_launch_job_t), &host, 1, ranks, -1, {}, abi(word)} {}

Launcher::Launcher(const Subject& subject, Mark& mark, const OneHost& job)
    : plugin_(subject, mark), settings_(settings_of(subject)) {
  plugin_.ok("`create`", table().create, plugin_.host(), settings_.get(), &job.job, &handle_);
  if (!handle_) throw Failure("`create` returns OK and gives no launcher");
}

Launcher::~Launcher() noexcept(false) {  // NOLINT(*exception-escape): the case's verdict
  if (std::uncaught_exceptions() == 0) plugin_.call("`destroy`", table().destroy, handle_);
}

baleen_place_t Launcher::place() const {
  baleen_place_t place{};
  place.size = sizeof place;
  plugin_.ok("`place`", table().place, handle_, &place);
  if (place.ranks == 0) return place;
  if (place.rank < 0 || place.rank >= place.ranks || place.local_ranks > place.ranks || place.local_rank < 0 ||
      place.local_rank >= place.local_ranks)
    throw Failure("`place` says rank " + std::to_string(place.rank) + " of " + std::to_string(place.ranks) +
                  ", on its host " + std::to_string(place.local_rank) + " of " + std::to_string(place.local_ranks));
  for (std::int32_t rank = 1; place.host_of_rank && rank < place.ranks; ++rank)
    if (place.host_of_rank[rank] < place.host_of_rank[rank - 1]) throw Failure("`place`: hosts of ranks fall");
  return place;
}

int play_rank(const Launcher& launcher, Mark&, const baleen_place_t& place, std::string_view script, bool is_started) {
  if (is_started && place.threads != kThreads)
    throw Failure("`place` says " + std::to_string(place.threads) + " threads where `start` was told " +
                  std::to_string(kThreads));
  const Rank rank(launcher, place);
  if (script == "places") return play_places(rank);
  if (script == "keys") return play_keys(rank);
  if (script == "fences") return play_fences(rank);
  if (script == "threads") return play_threads(rank);
  return play_loss(rank, script);
}

int be_launched_rank(const Subject& subject, std::string_view script, std::string_view word) {
  Mark mark;
  try {
    const std::size_t at = script.find(':');
    const OneHost job(std::stoi(std::string(script.substr(at + 1))), word);
    const Launcher launcher(subject, mark, job);
    const baleen_place_t place = launcher.place();
    if (place.ranks != job.job.ranks)
      throw Failure("`place` says " + std::to_string(place.ranks) + " ranks in a job of " +
                    std::to_string(job.job.ranks));
    return play_rank(launcher, mark, place, script.substr(0, at), true);
  } catch (const std::exception& why) {
    // By name the first is the first in time: those behind it may be its consequences.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    std::ofstream(kFailureFile + std::to_string(now) + "." + std::to_string(::getpid())) << why.what();
    return kFailed;
  }
}

}  // namespace baleen::validate
