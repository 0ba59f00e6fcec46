/// \file The collectives as data, and the loop that times them.
#include "frontend/cli/transport_bench.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "baleen/event.hpp"
#include "baleen/plugin.hpp"
#include "compiler/layout/mesh.hpp"
#include "frontend/cli/bench_call.hpp"

namespace baleen::app {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

const std::vector<std::string>& bench_collectives() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const BenchKind& kind : kBenchKinds) names.emplace_back(kind.name);
    return names;
  }();
  return all;
}

double BenchPoint::bus_bandwidth() const {
  const BenchKind* kind = find_bench_kind(collective);
  const double share = static_cast<double>(members - 1) / static_cast<double>(members);
  const BenchLoad load = kind ? kind->load : BenchLoad::whole;
  return algorithm_bandwidth() * (load == BenchLoad::whole ? 1 : load == BenchLoad::twice ? 2 * share : share);
}

Result<std::unique_ptr<TransportBench>> TransportBench::create(Communicator& communicator, std::uint64_t most,
                                                               Memory memory) {
  std::unique_ptr<TransportBench> made(new TransportBench(communicator));
  for (const MeshAxis& axis : communicator.mesh().axes) made->world_.push_back(axis.name);
  made->done_.size = sizeof made->done_;
  BALEEN_TRY(made->make_buffers(most, memory));
  CollectiveArgs agreement;
  agreement.op = BALEEN_ALL_REDUCE;
  agreement.reduction = BALEEN_MAXIMUM;
  agreement.dtype = BALEEN_F64;
  agreement.entries = {{&made->agreed_, &made->agreed_, 1, 0, {}, {}}};
  agreement.where = "the ranks' agreement";
  BALEEN_TRY_ASSIGN(made->agreement_, communicator.prepare(made->world_, std::move(agreement)));
  return made;
}

Status TransportBench::make_buffers(std::uint64_t most, Memory memory) {
  // Uneven pieces are up to a third larger, and small ones are rounded up to an element for each rank.
  const auto ranks = static_cast<std::uint64_t>(communicator_.ranks());
  capacity_ = most / 4 + most / 12 + 2 * ranks + 16;
  const std::uint64_t bytes = capacity_ * sizeof(float);
  if (memory == Memory::arena && !communicator_.allocates())
    return unsupported("the transport has no memory of its own; take `--memory own`");
  for (float** buffer : {&input_, &output_}) {
    void* base = nullptr;
    if (memory == Memory::arena) {
      BALEEN_TRY_ASSIGN(base, communicator_.allocate(bytes));
    } else {
      base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (base == MAP_FAILED)
        return Error{BALEEN_NO_MEMORY, "the system refuses " + std::to_string(bytes) + " bytes for a buffer", {}};
    }
    *buffer = static_cast<float*>(base);
    memory_ = memory;
    if (memory == Memory::own && communicator_.registers()) BALEEN_TRY(communicator_.add_arena(base, bytes));
  }
  return {};
}

TransportBench::~TransportBench() {
  if (!memory_) return;
  communicator_.settle();
  for (float* buffer : {input_, output_}) {
    if (!buffer) continue;
    if (*memory_ == Memory::arena) {
      communicator_.release(buffer);
      continue;
    }
    if (communicator_.registers()) communicator_.remove_arena(buffer);
    munmap(buffer, capacity_ * sizeof(float));
  }
}

Result<double> TransportBench::largest(double number) {
  agreed_ = number;
  BALEEN_TRY(communicator_.start(agreement_, nullptr, 0, &done_, ++done_value_));
  event_wait(done_, done_value_);
  BALEEN_TRY(communicator_.check());
  return agreed_;
}

Status TransportBench::run(const BenchCall& call) {
  for (void* slot : call.slots) {
    BALEEN_TRY(communicator_.start(slot, nullptr, 0, &done_, ++done_value_));
    event_wait(done_, done_value_);
  }
  return communicator_.check();
}

Result<double> TransportBench::sample(const BenchCall& call, std::int64_t times) {
  const double begin = now();
  for (std::int64_t i = 0; i < times; ++i) BALEEN_TRY(run(call));
  return (now() - begin) / static_cast<double>(times);
}

Result<double> TransportBench::time(const BenchCall& call, double seconds) {
  constexpr std::int64_t kSamples = 7, kMost = 2000;
  constexpr std::int64_t kWarmUps = 3;
  BALEEN_TRY_ASSIGN(double one, sample(call, kWarmUps));
  BALEEN_TRY_ASSIGN(one, largest(one));
  const double fitting = seconds / (static_cast<double>(kSamples) * std::max(one, 1e-9));
  const std::int64_t times = std::clamp(static_cast<std::int64_t>(std::min(fitting, 1e9)), std::int64_t{1}, kMost);
  std::vector<double> samples;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    BALEEN_TRY_ASSIGN(const double taken, sample(call, times));
    samples.push_back(taken);
  }
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return largest(samples[kSamples / 2]);
}

Result<BenchPoint> TransportBench::measure(std::string_view collective, const std::vector<std::string>& axes,
                                           std::uint64_t bytes, double seconds) {
  const BenchKind* kind = find_bench_kind(collective);
  if (!kind) return internal("no collective `" + std::string(collective) + "` to measure");
  std::vector<int> numbers;
  std::string joined;
  for (const std::string& axis : axes) {
    numbers.push_back(communicator_.mesh().find(axis));
    joined += (joined.empty() ? "" : "+") + axis;
  }
  const auto ranks = group(communicator_.mesh(), communicator_.rank(), numbers);
  const auto place =
      static_cast<std::uint64_t>(std::find(ranks.begin(), ranks.end(), communicator_.rank()) - ranks.begin());
  BenchCall call(*kind, place, ranks.size(), bytes, input_, output_);
  if (call.most() > capacity_) return internal("a benchmark of " + std::to_string(bytes) + " bytes was not foreseen");
  BALEEN_TRY(call.prepare(communicator_, axes));
  call.fill();
  BALEEN_TRY(run(call));
  BALEEN_TRY_ASSIGN(const double agreed, largest(static_cast<double>(call.wrong())));
  if (agreed > 0)
    return internal("the transport's " + std::string(collective) + " of " + std::to_string(bytes) + " bytes along " +
                    joined + " has " + std::to_string(static_cast<std::uint64_t>(agreed)) +
                    " wrong numbers on some rank");
  // Sums of sums would grow to infinity.
  std::memset(input_, 0, call.most() * sizeof(float));
  BALEEN_TRY_ASSIGN(double taken, time(call, seconds));
  if (kind->shape == BenchShape::pair) taken /= 2;  // there and back
  return BenchPoint{std::string(collective), joined, static_cast<std::int64_t>(ranks.size()),
                    call.most() * sizeof(float), taken};
}

}  // namespace baleen::app
