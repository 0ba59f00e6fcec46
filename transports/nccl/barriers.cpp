/// \file The thread.
#include "barriers.hpp"

namespace baleen::nccl {

Barriers::Barriers(Engine& engine, Attendance& attendance, Switchboard& switchboard)
    : engine_(engine),
      attendance_(attendance),
      switchboard_(switchboard),
      thread_(quiet_thread("nccl-barriers", [this] { run(); })) {}

void Barriers::stop() {
  event_signal(stop_, 1);
  event_signal(posted_, BALEEN_EVENT_FAILED);
  if (thread_.joinable()) thread_.join();
}

void Barriers::begin(const std::string& key, const std::vector<std::int32_t>& ranks, baleen_event_t* after,
                     std::uint64_t after_value, baleen_event_t* done, std::uint64_t done_value) {
  (*jobs_)[++begun_ % jobs_->size()] = {key, ranks, after, done, after_value, done_value};
  event_signal(posted_, begun_);
}

bool Barriers::run_one(const Job& job) {
  if (job.after && !wait_for(*job.after, job.after_value, engine_.failed)) return false;
  if (engine_.failure) return false;
  const std::string announcement = attendance_.announce(job.key);
  for (const std::int32_t rank : job.ranks)
    if (rank != switchboard_.rank()) switchboard_.send(FrameKind::kBarrier, rank, announcement);
  return attendance_.await(job.key, ++numbers_[job.key], job.ranks.size());
}

void Barriers::run() {
  for (std::uint64_t number = 1;; ++number) {
    event_wait(posted_, number);
    if (event_value(stop_) > 0) return;
    const Job job = (*jobs_)[number % jobs_->size()];
    const bool well = run_one(job);
    if (!well && engine_.failure.set({BALEEN_PEER_LOST, Switchboard::kEnded, {}})) event_signal(engine_.failed, 1);
    if (job.done) event_signal(*job.done, well ? job.done_value : BALEEN_EVENT_FAILED);
    event_signal(finished_, number);
  }
}

}  // namespace baleen::nccl
