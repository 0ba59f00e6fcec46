/// \file A transport of one rank on a stream of the device's, to try the interface of native events: an all-reduce
/// copies its input to its output, as NCCL would enqueue it.
#include <cuda.h>
#include <dlfcn.h>

#include <map>
#include <set>

#include "baleen/transport.hpp"

BALEEN_DESCRIPTOR("transport", "copying_spike", "1.0.0", "Apache-2.0", "One rank's copies on a stream of CUDA", 0, "",
                  BALEEN_OPTION("driver", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "", "path of libcuda"));

namespace baleen::copying_spike {

class Copying : public Transport {
 public:
  static constexpr std::string_view kNativeRuntime = "cuda";

  static Result<std::unique_ptr<Copying>> create(const Host& host, const Settings& settings, const Rendezvous&,
                                                 baleen_transport_flags_t) {
    void* library = dlopen(std::string(settings.text("driver")).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return invalid(dlerror());
    auto made = std::make_unique<Copying>();
    made->host_ = host;
    made->copy_ = reinterpret_cast<decltype(&cuMemcpyAsync)>(dlsym(library, "cuMemcpyAsync"));
    return made;
  }

  Result<void*> allocate(std::uint64_t) override { return unsupported("collectives are in the device's memory"); }
  void release(void*) override {}
  Result<void*> group_create(std::vector<std::int32_t>) override { return static_cast<void*>(this); }
  void group_destroy(void*) override { fail_unfinished(); }
  Result<void*> prepare(void*, const baleen_collective_spec_t& spec) override {
    entries_.push_back(spec.entries[0]);
    return reinterpret_cast<void*>(entries_.size());
  }
  Status start(void* slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value) override {
    const auto& entry = entries_[reinterpret_cast<std::size_t>(slot) - 1];
    if (!events_) return internal("no device has been handed over");
    if (after && compute_->stream_wait(device_, stream_, after, after_value) != BALEEN_OK)
      return internal("the device's stream does not wait");
    if (copy_(reinterpret_cast<CUdeviceptr>(entry.output), reinterpret_cast<CUdeviceptr>(entry.input),
              entry.count * sizeof(float), static_cast<CUstream>(native_)) != CUDA_SUCCESS)
      return internal("the copy is refused");
    if (done && compute_->stream_signal(device_, stream_, done, done_value) != BALEEN_OK)
      return internal("the device's stream does not signal");
    begun_.insert(done);
    return {};
  }
  Status check() override { return reason_.empty() ? Status() : Status(Error{BALEEN_PEER_LOST, reason_, {}}); }
  void abort(std::string_view reason) override {
    reason_ = reason;
    fail_unfinished();
  }

  Status use(void* device, const baleen_compute_t* compute, const baleen_native_events_t* events) override {
    device_ = device;
    compute_ = compute;
    if (compute->stream_create(device, &stream_) != BALEEN_OK ||
        events->native_stream(device, stream_, &native_) != BALEEN_OK)
      return internal("the device makes no stream");
    events_ = events;
    host_.log(BALEEN_INFO, "works on a stream of the device");
    return {};
  }
  void leave() override {
    compute_->stream_destroy(device_, stream_);
    events_ = nullptr;
    host_.log(BALEEN_INFO, "has left the device");
  }

 private:
  void fail_unfinished() {
    for (baleen_event_t* done : begun_)
      if (done && events_ && done->native) events_->fail(device_, done);
    begun_.clear();
  }

  Host host_{nullptr};
  decltype(&cuMemcpyAsync) copy_ = nullptr;
  std::vector<baleen_collective_entry_t> entries_;
  std::set<baleen_event_t*> begun_;
  std::string reason_;
  const baleen_compute_t* compute_ = nullptr;
  const baleen_native_events_t* events_ = nullptr;
  void *device_ = nullptr, *stream_ = nullptr, *native_ = nullptr;
};

}  // namespace baleen::copying_spike

BALEEN_TRANSPORT(baleen::copying_spike::Copying);
