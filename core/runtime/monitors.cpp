/// \file The queue of events and the thread that hands them to the monitors.
#include "core/runtime/monitors.hpp"

#include <algorithm>
#include <chrono>

#include "baleen/plugin.hpp"

namespace baleen {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

struct Monitors::Member {
  Plugin plugin;
  SettingsStorage settings;
  const baleen_monitor_t* table = nullptr;
  void* monitor = nullptr;
  bool failed = false;  ///< said so once; told nothing any more

  Member(Plugin p, SettingsStorage s) : plugin(std::move(p)), settings(std::move(s)) {}
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() {
    if (monitor) table->destroy(monitor);
  }
};

Result<std::unique_ptr<Monitors>> Monitors::create(std::vector<OpenMonitor> chosen, Log log, std::int32_t rank) {
  std::vector<std::unique_ptr<Member>> members;
  for (OpenMonitor& monitor : chosen) {
    auto member = std::make_unique<Member>(monitor.plugin, std::move(monitor.settings));
    BALEEN_TRY_ASSIGN(member->table, member->plugin.table<baleen_monitor_t>("monitor"));
    if (rank != 0 && !member->table->spans) continue;
    BALEEN_TRY(
        member->plugin.check(member->table->create(member->plugin.host(), member->settings.get(), &member->monitor)));
    members.push_back(std::move(member));
  }
  return std::unique_ptr<Monitors>(new Monitors(std::move(members), std::move(log), rank));
}

Monitors::Monitors(std::vector<std::unique_ptr<Member>> members, Log log, std::int32_t rank)
    : members_(std::move(members)), log_(std::move(log)), rank_(rank), start_ns_(now_ns()), thread_([this] {
        work();
      }) {}

Monitors::~Monitors() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

double Monitors::seconds() const { return static_cast<double>(now_ns() - start_ns_) * 1e-9; }

bool Monitors::wants_spans() const {
  return std::any_of(members_.begin(), members_.end(), [](const auto& m) { return m->table->spans != nullptr; });
}

void Monitors::enqueue(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void Monitors::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto task = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    task();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Monitors::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
}

void Monitors::tell(Member& member, const std::function<baleen_status_t(Member&)>& call) {
  if (member.failed) return;
  if (Status status = member.plugin.check(call(member)); !status) {
    member.failed = true;
    if (failure_) failure_ = status;
    log_.warning("monitor `" + member.plugin.descriptor().name +
                 "` failed and is told nothing more: " + status.error().text());
  }
}

void Monitors::record(baleen_record_kind_t kind, std::int64_t step, std::int64_t steps, std::vector<Fact> facts) {
  const double at = seconds();
  enqueue([this, kind, step, steps, at, facts = std::move(facts)] {
    std::vector<baleen_fact_t> list;
    for (const Fact& fact : facts)
      list.push_back({abi(fact.name), fact.number, fact.text.empty() ? baleen_string_t{nullptr, 0} : abi(fact.text)});
    baleen_record_t record{sizeof(baleen_record_t), kind, rank_, step, steps, at, list.data(), list.size()};
    for (auto& member : members_) tell(*member, [&](Member& m) { return m.table->record(m.monitor, &record); });
  });
}

bool Monitors::print(std::int64_t step, std::int64_t steps, std::string_view line) {
  const double at = seconds();
  bool is_shown = false;
  enqueue([&] {
    const baleen_fact_t message{abi("message"), 0, abi(line)};
    const baleen_record_t record{sizeof(baleen_record_t), BALEEN_RECORD_NOTE, rank_, step, steps, at, &message, 1};
    for (auto& member : members_) {
      if (member->plugin.descriptor().score < 0) continue;
      tell(*member, [&](Member& m) { return m.table->record(m.monitor, &record); });
      is_shown = is_shown || !member->failed;
    }
  });
  drain();
  return is_shown;
}

void Monitors::spans(std::vector<MonitorSpan> spans) {
  enqueue([this, spans = std::move(spans)] {
    std::vector<baleen_span_t> list;
    for (const MonitorSpan& s : spans)
      list.push_back({abi(s.name), abi(s.category), s.begin, s.end, s.step, rank_, 0, s.flops, s.bytes});
    for (auto& member : members_)
      if (member->table->spans)
        tell(*member, [&](Member& m) { return m.table->spans(m.monitor, list.data(), list.size()); });
  });
}

}  // namespace baleen
