/// \file A sound store in memory, which the option `defect` makes wrong in one way.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "baleen/offload.hpp"

BALEEN_DESCRIPTOR("offload", "planted", "1.0.0", "Apache-2.0", "Wrong on request", -1, "",
                  BALEEN_OPTION("defect", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "what is wrong"));

namespace {

using namespace baleen;
using namespace baleen::sdk;

constexpr std::uint64_t kRoom = std::uint64_t{1} << 30, kShown = std::uint64_t{8} << 20,
                        kMeasured = std::uint64_t{64} << 20, kAlignment = 4096;

std::string defect;
bool is(std::string_view word) { return defect == word; }

class Planted final : public OffloadStore {
 public:
  static constexpr bool kMaps = true;

  static Result<std::unique_ptr<Planted>> create(const Host&, const Settings& settings, OffloadSpec spec) {
    defect = settings.text("defect");
    if (is("over_budget")) spec.budget = spec.budget ? 2 * spec.budget : 0;
    if (is("leaks_descriptor")) (void)::open("/dev/null", O_RDONLY);
    if (is("leaves_file")) (void)::open("left_behind", O_RDWR | O_CREAT, 0600);
    if (is("leaks_thread")) std::thread([] { ::pause(); }).detach();
    return std::make_unique<Planted>(std::move(spec));
  }
  explicit Planted(OffloadSpec given)
      : OffloadStore(std::move(given), {kAlignment, kAlignment, kRoom, "memory"}),
        own_(static_cast<char*>(::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    static char* const shared = own_;
    data_ = is("shares") ? shared : own_;
    if (is("dirty")) std::memset(data_, 3, kShown);
    worker_ = std::thread([this] { work(); });
  }
  ~Planted() override {
    closing_ = true;
    queue().wake();
    worker_.join();
    if (pinned_ && !is("keeps_pins")) this->spec().pinning->unpin(this->spec().pinning->self, pinned_);
    if (!is("shares")) ::munmap(own_, kRoom);
  }

 protected:
  Status extend(std::uint64_t, std::uint64_t) override {
    const baleen_offload_pinning_t* const pinning = spec().pinning;
    if (pinning && !pinned_ && pinning->pin(pinning->self, data_, kRoom) == BALEEN_OK) pinned_ = data_;
    return {};
  }
  void give_back(std::uint64_t begin) override {
    std::memset(is("wipes") ? data_ : data_ + begin, 0, is("wipes") ? kShown : kMeasured);
  }
  baleen_offload_flags_t flags() const override {
    return (is("hides_map") ? 0 : BALEEN_OFFLOAD_MAPPED) | (pinned_ ? BALEEN_OFFLOAD_PINNED : 0);
  }
  std::uint64_t overhead() const override { return 0; }
  void* address(std::uint64_t begin) override {
    if (!is("maps_copy")) return data_ + begin;
    copy_.resize(kRoom + kAlignment);
    return copy_.data() + (kAlignment - reinterpret_cast<std::uintptr_t>(copy_.data()) % kAlignment);
  }

 private:
  void work() {
    while (true) {
      const std::uint64_t word = queue().prepare_sleep();
      bool gated = false;
      if (closing_) {
        while (OffloadOperation* const operation = is("forgets_waiting") ? nullptr : queue().next_waiting())
          fail(*operation, {BALEEN_INTERRUPTED, "the store was destroyed before it could begin", {}});
        return;
      }
      if (OffloadOperation* const operation = queue().next(&gated))
        move(*operation);
      else
        queue().sleep(word, gated);
    }
  }
  void move(OffloadOperation& operation) {
    if (fail_after(operation)) return;
    const baleen_offload_transfer_t& transfer = operation.transfer;
    auto* const memory = static_cast<char*>(transfer.memory);
    char* const there = data_ + slots().at(transfer.slot).begin + (is("no_offset") ? 0 : transfer.offset);
    std::uint64_t bytes = transfer.bytes;
    if (is("whole_pages") && bytes > kAlignment) bytes = bytes / kAlignment * kAlignment;
    if (is("overtakes") && operation.is_put) ::usleep(2000);
    if (bytes != 0) std::memmove(operation.is_put ? there : memory, operation.is_put ? memory : there, bytes);
    if (is("one_too_many") && !operation.is_put && bytes != 0) memory[bytes] = 7;
    finish(operation);
  }

  char *own_, *data_ = nullptr, *pinned_ = nullptr;
  std::vector<char> copy_;
  std::atomic<bool> closing_{false};
  std::thread worker_;
};

const baleen_offload_t& sound() {
  static const baleen_offload_t table = offload_table<Planted>();
  return table;
}

baleen_status_t put(void* store, const baleen_offload_transfer_t* given) {
  baleen_offload_transfer_t transfer = *given;
  if (is("no_waiting")) transfer.after = nullptr;
  if (is("another_value") && transfer.done) ++transfer.done_value;
  if (is("signals_nothing") && transfer.bytes == 0) transfer.done = nullptr;
  if (is("mixes_slots")) transfer.slot = transfer.slot > 20 ? 20 : transfer.slot;
  if (is("one_at_a_time") && transfer.after && transfer.done) event_wait(*transfer.after, transfer.after_value);
  const baleen_status_t status = sound().put(store, &transfer);
  return is("takes_anything") ? BALEEN_OK : status;
}

/// One that overtakes reads before earlier puts are done.
baleen_status_t get(void* store, const baleen_offload_transfer_t* transfer) {
  void* base = nullptr;
  if (!is("overtakes") || transfer->bytes == 0 || sound().map(store, transfer->slot, &base) != BALEEN_OK)
    return sound().get(store, transfer);
  std::memcpy(transfer->memory, static_cast<char*>(base) + transfer->offset, transfer->bytes);
  if (transfer->done) event_signal(*transfer->done, transfer->done_value);
  return BALEEN_OK;
}

baleen_status_t check(void* store, std::uint32_t slot) {
  if (is("silent")) return BALEEN_OK;
  return sound().check(store, is("blames_all") ? BALEEN_OFFLOAD_ANY : slot);
}

baleen_status_t describe(void* store, baleen_offload_info_t* info) {
  if (is("whole_info")) info->size = sizeof *info;
  const baleen_status_t status = sound().describe(store, info);
  if (is("counts_bytes") && info->slots == 3) info->in_use = kAlignment + 2;
  return status;
}

baleen_offload_t planted() {
  baleen_offload_t table = sound();
  table.put = &put;
  table.get = &get;
  table.check = &check;
  table.describe = &describe;
  return table;
}

}  // namespace

BALEEN_EXPORT_TABLE(planted());
