/// \file A little language model on a little text, with the tree's own plugins: what sessions are tested with.
#pragma once
#include <functional>
#include <memory>

#include "compiler/plan/plan.hpp"
#include "core/plugin/registry.hpp"
#include "core/runtime/session.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

struct JobOptions {
  std::int64_t batch = 8;
  std::int64_t accumulate = 1;
  std::function<void(std::int64_t)> begins = {};  ///< told the number of each collective
  double lr = 0.5;
  std::string memory = "0";  ///< MiB that the device says it has; "0": what there is
  std::int64_t width = 12;   ///< of the hidden layer
  baleen_dtype_t dtype = BALEEN_F64;
  std::string transport = {};                       ///< with several ranks: the member
  const baleen_rendezvous_t* rendezvous = nullptr;  ///< of this rank
  double bucket_mb = 4;
  Mesh mesh = {};  ///< with several ranks; if none is given, one axis `data`
  /// Several ranks that are given none have `data`.
  std::vector<MemberSpec> strategies = {};
  std::string store = "host";     ///< the member that keeps what `offload` moves
  std::string store_folder = {};  ///< where it is, if it is not the tree's
  bool store_maps = false;        ///< its slots may be used in place
  /// The plugin of the device, and its options; none: the best one. Beside one with memory of its own the best one runs
  /// updates on the host.
  std::string device = {};
  UserValues device_options = {};
  std::optional<GraphRole> only = {};
  bool goes_on_not_finite = false;
  InstructionWatch* watch = nullptr;  ///< of programs' runs
  bool is_late = false;               ///< a step makes the update of the step before
  bool attention = false;             ///< between embedding and hidden layer, causal, of two heads
  std::string optimizer = "sgd";      ///< which has a momentum; others have their defaults
  std::uint64_t seed = 7;             ///< of the session's random numbers
  std::uint64_t data_seed = 7;        ///< of the order of rows
  bool learns = false;                ///< a program `more` learns beside the training, from tokens and targets
};

/// A session with all that it borrows. Records go to `log`, a file of JSON lines.
class SmallRun {
 public:
  explicit SmallRun(const TemporaryFolder& folder, const JobOptions& options = {});

  const Registry& registry() const { return *registry_; }
  /// Closes the monitors; the lines that they wrote.
  std::vector<std::string> finish();

 private:
  Status make(const TemporaryFolder& folder, const JobOptions& options);
  Status connect(const JobOptions& options, const Mesh& mesh);

  std::string log_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<Device> host_device_, device_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Monitors> monitors_;

 public:
  Status status;                     ///< where the session could not be made
  std::unique_ptr<Session> session;  ///< last: it borrows all of the above
};

/// Forty kilobytes of text that can be learnt.
std::string some_text();

}  // namespace baleen::test
