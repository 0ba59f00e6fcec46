/// \file Capturing, and putting seed and step into the kernels that want them.
#include "sequence.hpp"

#include <algorithm>
#include <cstring>

#include "stream.hpp"

namespace baleen::cuda {

bool Recording::holds(CUstream stream) const {
  return std::find(streams.begin(), streams.end(), stream) != streams.end();
}

const KeptSignal* Recording::find(const baleen_event_t& event, std::uint64_t value) const {
  const auto found = std::find_if(signals.begin(), signals.end(),
                                  [&](const KeptSignal& s) { return s.event == &event && s.value >= value; });
  return found == signals.end() ? nullptr : &*found;
}

Status Recording::wait(const Driver& driver, CUstream stream, const baleen_event_t& event, std::uint64_t value) {
  if (!holds(stream)) streams.push_back(stream);
  return driver.check(driver.cuStreamWaitEvent(stream, find(event, value)->mark->at, 0), "keeping a wait");
}

Status Recording::signal(const Driver& driver, NativeEvents& events, CUstream stream, baleen_event_t& event,
                         std::uint64_t value) {
  BALEEN_TRY_ASSIGN(NativeEvents::Signal* const mark, events.take());
  signals.push_back({&event, value, mark});
  return driver.check(driver.cuEventRecord(mark->at, stream), "keeping a signal");
}

Status Recording::refuse(const std::string& what) {
  const Error reason = unsupported("launches cannot be kept as a graph: there is " + what);
  if (failure) failure = reason;
  return reason;
}

// Other threads of the process (streams' helpers) may go on meanwhile.
Status Sequence::begin(const Driver& driver, Stream& stream) {
  stream.recording = std::make_unique<Recording>();
  stream.recording->streams.push_back(stream.native());
  if (!stream.events().keep_in(stream.recording.get())) {
    stream.recording.reset();
    return unsupported("launches of another stream are being kept as a graph; one at a time");
  }
  Status begun = driver.check(driver.cuStreamBeginCapture(stream.native(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                              "beginning to keep launches");
  if (begun) return begun;
  stream.events().keep_in(nullptr);
  stream.recording.reset();
  return begun;
}

Result<std::unique_ptr<Sequence>> Sequence::end(const Driver& driver, Stream& stream) {
  const std::unique_ptr<Recording> recording = std::move(stream.recording);
  stream.events().keep_in(nullptr);
  std::unique_ptr<Sequence> made(new Sequence(driver));
  const CUresult captured = driver.cuStreamEndCapture(stream.native(), &made->graph_);
  for (KeptSignal& signal : recording->signals) stream.events().give_back(std::exchange(signal.mark, nullptr));
  if (!recording->failure) return recording->failure.error();
  if (captured != CUDA_SUCCESS || !made->graph_)
    return unsupported("launches cannot be kept as a graph (" + driver.text(captured) + ")");
  if (const CUresult result = driver.cuGraphInstantiate(&made->exec_, made->graph_, 0); result != CUDA_SUCCESS)
    return unsupported("the driver does not take a graph of launches (" + driver.text(result) + ")");
  made->varying_ = std::move(recording->varying);
  made->signals_ = std::move(recording->signals);
  made->label_ = stream.log().keep(recording->launches);
  made->micro_ = stream.log().micro();
  return made;
}

Sequence::~Sequence() {
  if (exec_) driver_.cuGraphExecDestroy(exec_);
  if (graph_) driver_.cuGraphDestroy(graph_);
}

// The driver copies the arguments, and what is under way keeps those that it was launched with.
Status Sequence::update(std::uint64_t seed, std::uint64_t step) {
  if (told_ && seed == seed_ && step == step_) return {};
  told_ = true;
  seed_ = seed;
  step_ = step;
  for (VaryingNode& node : varying_) {
    std::memcpy(node.args.data() + node.seed, &seed, sizeof seed);
    std::memcpy(node.args.data() + node.step, &step, sizeof step);
    void* arguments[] = {node.args.data()};
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = node.function;
    params.gridDimX = static_cast<unsigned>(node.geometry.blocks);
    params.gridDimY = static_cast<unsigned>(node.geometry.blocks_y);
    params.gridDimZ = static_cast<unsigned>(node.geometry.blocks_z);
    params.blockDimX = node.geometry.threads;
    params.blockDimY = params.blockDimZ = 1;
    params.sharedMemBytes = static_cast<unsigned>(node.geometry.shared_bytes);
    params.kernelParams = arguments;
    BALEEN_TRY(driver_.check(driver_.cuGraphExecKernelNodeSetParams(exec_, node.node, &params),
                             "telling a kept kernel the step"));
  }
  return {};
}

Status Sequence::replay(Stream& stream, std::uint64_t seed, std::uint64_t step) {
  BALEEN_TRY(update(seed, step));
  stream.log().begin(label_, step, micro_);
  BALEEN_TRY(driver_.check(driver_.cuGraphLaunch(exec_, stream.native()), "enqueueing kept launches"));
  for (const KeptSignal& signal : std::exchange(signals_, {})) BALEEN_TRY(stream.signal(*signal.event, signal.value));
  return {};
}

}  // namespace baleen::cuda
