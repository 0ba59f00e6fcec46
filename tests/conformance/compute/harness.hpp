/// \file Opens compute plugins as a host does, runs single ops on them, and compares with what was expected.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <variant>

#include "baleen/blockwise.h"
#include "baleen/op_kind.h"
#include "conformance/compute/tensor.hpp"

namespace baleen::conformance {

/// An op to be run: its kind and attributes, which this object owns.
class OpSpec {
 public:
  OpSpec(std::string kind) : kind_(std::move(kind)) {}

  OpSpec& integers(std::string name, std::vector<std::int64_t> values);
  OpSpec& integer(std::string name, std::int64_t value) { return integers(std::move(name), {value}); }
  OpSpec& number(std::string name, double value);
  OpSpec& text(std::string name, std::string value);
  OpSpec& expression(std::vector<baleen_instruction_t> code, std::vector<std::int64_t> results);

  const std::string& kind() const { return kind_; }
  /// Views into this object.
  std::vector<baleen_attribute_t> view() const;

 private:
  struct Attribute {
    std::string name;
    std::variant<std::vector<std::int64_t>, std::vector<double>, std::string, std::vector<baleen_instruction_t>> value;
  };
  std::string kind_;
  std::vector<Attribute> attributes_;
};

/// What a run needs to know beside its operands.
struct RunOptions {
  Placement placement = Placement::kPacked;
  /// Outputs take the bytes of inputs wherever the kernel allows it; where it offers several, those that it names
  /// first, or last.
  enum class Aliases { none, first, last } aliases = Aliases::none;
  std::uint64_t seed = 0, step = 0, micro = 0;
  std::int32_t micro_dim = -1;
  std::int64_t micro_step = 0;
  Shape global_shape;                           ///< of every tensor with as many dimensions; empty: the local one
  std::vector<std::vector<baleen_run_t>> runs;  ///< per dimension, likewise
  const baleen_op_kind_t* kind = nullptr;       ///< of the op, where a plugin brings it
  const OpSpec* beside = nullptr;               ///< another op of the region: of one input it makes the last output
  std::size_t beside_input = 0;
  const OpSpec* behind = nullptr;  ///< another op of the region: of what the first makes, and of the other inputs
  std::size_t first_inputs = 2;    ///< with one behind: what the first takes; of one input it makes a tensor like it
  std::size_t first_outputs = 0;   ///< with one behind: what the first makes beside that, the last outputs
  const baleen_block_watch_t* watch = nullptr;  ///< told of blocks, where the kernel tells of them
  struct Blocks {
    std::uint64_t each = 0, elements = 0;
  };
  std::vector<Blocks>* blocks = nullptr;  ///< with a watch: gets those of each tensor, inputs first
};

/// An opened plugin; `fail` texts are kept per thread of the host's calls.
class Plugin {
 public:
  explicit Plugin(std::string path);
  const std::string& path() const { return path_; }
  const baleen_compute_t& table() const { return table_; }
  const baleen_descriptor_t& descriptor() const { return descriptor_; }
  bool has_option(std::string_view name) const;
  const baleen_host_t& host() const { return host_; }
  std::string last_failure() const { return failure_; }
  void clear_failure() { failure_.clear(); }
  /// The lines that the plugin logged, each with its level: "2 text\n".
  std::string log() const;

 private:
  std::string path_, failure_, log_;
  mutable std::mutex log_lock_;
  baleen_descriptor_t descriptor_{};
  baleen_host_t host_{};
  baleen_compute_t table_{};
};

/// The plugin is sound and this machine lacks what it drives.
struct NoHardware : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whether a device can be run on, or is only described (baleen_described_device_t).
enum class DeviceIs { kThere, kDescribed };

/// A created device with one stream. Options not given take their defaults.
class Device {
 public:
  Device(Plugin& plugin, const std::vector<std::pair<std::string, std::int64_t>>& options,
         DeviceIs is = DeviceIs::kThere);
  ~Device();
  Device(const Device&) = delete;

  Plugin& plugin() const { return plugin_; }
  void* get() const { return device_; }
  void* stream() const { return stream_; }
  const baleen_compute_t& table() const { return plugin_.table(); }

  /// Runs one op. Memory is poisoned with NaN before, and must be untouched around and between the outputs' elements
  /// after. Returns the status; `outputs` (whose shapes and kinds are given) get their values.
  baleen_status_t run(const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
                      baleen_dtype_t dtype, const RunOptions& options = {});
  /// Whether the device takes the op at all.
  bool supports(const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs, baleen_dtype_t dtype,
                const RunOptions& options = {});
  /// What compiling the op gives, of which the kernel itself is released.
  Result<baleen_kernel_t> compiled(const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs,
                                   baleen_dtype_t dtype, const RunOptions& options = {});

 private:
  Plugin& plugin_;
  void* device_ = nullptr;
  void* stream_ = nullptr;
};

/// A test on one plugin in one dtype.
class ComputeTest : public testing::TestWithParam<std::tuple<std::string, baleen_dtype_t>> {
 protected:
  void SetUp() override;

  baleen_dtype_t dtype() const { return std::get<1>(GetParam()); }
  bool is_double() const { return dtype() == BALEEN_F64; }
  /// The tolerance for this dtype.
  double tolerance(double fp32, double fp64) const { return is_double() ? fp64 : fp32; }

  /// Runs `op` in every placement, with and without aliases, and expects |got - wanted| <= tolerance * (1 + |wanted|).
  /// Then expects the same bits from one and from two threads, unless the order of sums may differ or the plugin has no
  /// option for threads.
  void expect(const OpSpec& op, const std::vector<Tensor>& inputs, const std::vector<Tensor>& wanted, double tolerance,
              bool same_bits = true, RunOptions options = {});

  /// Values of one packed run; a failure is reported.
  std::vector<Tensor> run(const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs,
                          const RunOptions& options = {});

  /// For kinds that a device may lack, because the core has others for them.
  bool supports(const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs);

  Plugin& plugin() { return *plugin_; }
  Device& one() { return *one_; }
  Device& two() { return *two_; }
  std::mt19937_64 random{20240607};  ///< fixed: a failure repeats

 private:
  Plugin* plugin_ = nullptr;
  std::unique_ptr<Device> one_, two_;  ///< one thread, two threads
};

/// Everything that the build registered.
std::vector<std::string> plugin_paths();
std::string case_name(const testing::TestParamInfo<std::tuple<std::string, baleen_dtype_t>>& info);

#define BALEEN_COMPUTE_SUITE(suite)                                                                                   \
  INSTANTIATE_TEST_SUITE_P(Plugins, suite,                                                                            \
                           testing::Combine(testing::ValuesIn(baleen::conformance::plugin_paths()),                   \
                                            testing::Values(baleen_dtype_t{BALEEN_F32}, baleen_dtype_t{BALEEN_F64})), \
                           baleen::conformance::case_name)

}  // namespace baleen::conformance
