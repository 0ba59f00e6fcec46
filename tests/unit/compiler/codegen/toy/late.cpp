/// \file An offload store that is late: what is got is NaN until a while has passed, what is put is read as late as may
/// be. So whoever does not wait computes something else. One of its operations may fail.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "baleen/offload.hpp"

BALEEN_DESCRIPTOR("offload", "late", "1.0.0", "Apache-2.0", "memory that takes its time, for tests", 0, "",
                  BALEEN_OPTION("microseconds", BALEEN_OPTION_INT, 0, 0, 1e6, "200", "", "", "that an operation takes"),
                  BALEEN_OPTION("fails", BALEEN_OPTION_INT, 0, 0, 1e6, "0", "", "",
                                "the number of an operation that fails, from 1; 0: none"));

namespace baleen::test {
namespace {

class LateStore final : public sdk::OffloadStore {
 public:
  static Result<std::unique_ptr<OffloadStore>> create(const Host&, const Settings& settings, sdk::OffloadSpec spec) {
    return std::unique_ptr<OffloadStore>(std::make_unique<LateStore>(
        std::move(spec), std::chrono::microseconds(settings.integer("microseconds")), settings.integer("fails")));
  }
  LateStore(sdk::OffloadSpec spec, std::chrono::microseconds late, std::int64_t fails)
      : OffloadStore(std::move(spec), {64, 64, std::uint64_t{1} << 30, "memory"}),
        late_(late),
        fails_(fails),
        worker_([this] { loop(); }) {}
  ~LateStore() override {
    closing_ = true;
    queue().wake();
    worker_.join();
  }

 protected:
  Status extend(std::uint64_t, std::uint64_t end) override {
    bytes_.resize(end);
    return {};
  }
  void give_back(std::uint64_t begin) override { bytes_.resize(begin); }
  baleen_offload_flags_t flags() const override { return 0; }
  std::uint64_t overhead() const override { return 0; }

 private:
  void loop() {
    while (true) {
      const std::uint64_t word = queue().prepare_sleep();
      bool gated = false;
      if (sdk::OffloadOperation* operation = closing_ ? queue().next_waiting() : queue().next(&gated))
        end(*operation);
      else if (closing_)
        return;
      else
        queue().sleep(word, gated);
    }
  }

  void end(sdk::OffloadOperation& operation) {
    if (closing_) return fail(operation, {BALEEN_INTERRUPTED, "the store was destroyed before it could begin", {}});
    if (fail_after(operation)) return;
    const baleen_offload_transfer_t& transfer = operation.transfer;
    if (!operation.is_put) std::memset(transfer.memory, 0xff, transfer.bytes);
    std::this_thread::sleep_for(late_);
    if (++operations_ == fails_) return fail(operation, {BALEEN_IO, "the disk is gone", {}});
    char* const kept = bytes_.data() + slots().at(transfer.slot).begin + transfer.offset;
    if (operation.is_put)
      std::memcpy(kept, transfer.memory, transfer.bytes);
    else
      std::memcpy(transfer.memory, kept, transfer.bytes);
    finish(operation);
  }

  const std::chrono::microseconds late_;
  const std::int64_t fails_;
  std::int64_t operations_ = 0;
  std::vector<char> bytes_;
  std::atomic<bool> closing_{false};
  std::thread worker_;
};

}  // namespace
}  // namespace baleen::test

BALEEN_OFFLOAD(baleen::test::LateStore);
