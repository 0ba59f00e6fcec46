/// \file The host side of the suite.
#include "conformance/compute/harness.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "conformance/compute/members.hpp"

namespace baleen::conformance {
namespace {

constexpr std::uint64_t kGuard = 256;    // bytes of poison around each tensor
constexpr unsigned char kPoison = 0xff;  // two, four or eight of them are a NaN

baleen_descriptor_t read_descriptor(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string bytes(file ? static_cast<std::size_t>(file.tellg()) : 0, '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::uint64_t magic = BALEEN_DESCRIPTOR_MAGIC;
  baleen_descriptor_t out{};
  for (std::size_t at = 0; at + sizeof out <= bytes.size(); at += 4) {
    if (std::memcmp(bytes.data() + at, &magic, sizeof magic) != 0) continue;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    if (out.struct_size == sizeof out && std::string_view(out.kind) == "compute") return out;
  }
  throw std::runtime_error(path + " has no descriptor");
}

struct Placed {
  baleen_dtype_t dtype;
  Layout layout;
  std::uint64_t offset = 0, bytes = 0;
};

void write(char* base, const Placed& p, const Tensor& t) {
  std::int64_t position = 0;
  each_index(t.shape, [&](const Shape& index) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < index.size(); ++d) element += index[d] * p.layout.strides[d];
    write_element(base + p.offset + static_cast<std::uint64_t>(element) * dtype_size(p.dtype), p.dtype, t[position++]);
  });
}

// Reads and poisons again, so that whatever else changed shows.
void take(char* base, const Placed& p, Tensor& t) {
  t.values.assign(static_cast<std::size_t>(count(t.shape)), 0.0);
  std::int64_t position = 0;
  each_index(t.shape, [&](const Shape& index) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < index.size(); ++d) element += index[d] * p.layout.strides[d];
    char* from = base + p.offset + static_cast<std::uint64_t>(element) * dtype_size(p.dtype);
    t[position++] = read_element(from, p.dtype);
    std::memset(from, kPoison, dtype_size(p.dtype));
  });
}

bool all_poison(const char* from, std::uint64_t bytes) {
  return std::all_of(from, from + bytes, [](char c) { return static_cast<unsigned char>(c) == kPoison; });
}

baleen_tensor_t describe(const Tensor& t, const Placed& p, const RunOptions& options) {
  baleen_tensor_t out{};
  out.size = sizeof out;
  out.dtype = p.dtype;
  out.rank = static_cast<std::uint32_t>(t.shape.size());
  const bool global = options.global_shape.size() == t.shape.size() && !t.shape.empty();
  out.micro_dim = global ? options.micro_dim : -1;
  out.micro_step = global ? options.micro_step : 0;
  for (std::size_t d = 0; d < t.shape.size(); ++d) {
    out.shape[d] = t.shape[d];
    out.stride[d] = p.layout.strides[d];
    out.global_shape[d] = global ? options.global_shape[d] : t.shape[d];
    if (!global || options.runs.empty()) continue;
    out.runs[d] = options.runs[d].data();
    out.run_count[d] = static_cast<std::uint32_t>(options.runs[d].size());
  }
  return out;
}

// Everything one run needs, in memory order: guard, tensor, guard, tensor, …, guard, scratch, guard.
class Run {
 public:
  Run(Device& device, const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
      baleen_dtype_t dtype, const RunOptions& options)
      : device_(device), inputs_(inputs), outputs_(outputs), options_(options), attributes_(op.view()) {
    for (const Tensor& t : inputs) place(t, dtype, false);
    for (const Tensor& t : outputs) place(t, dtype, &t == &outputs.back());
    for (std::size_t i = 0; i < placed_.size(); ++i) numbers_.push_back(static_cast<std::uint32_t>(i));
    if (options.behind) {
      add_chain(op);
      return;
    }
    const std::size_t own = outputs.size() - (options.beside ? 1 : 0);
    views_.push_back(describe(op, attributes_, numbers_.data(), inputs.size(), numbers_.data() + inputs.size(), own));
    if (!options.beside) return;
    other_attributes_ = options.beside->view();
    views_.push_back(describe(*options.beside, other_attributes_, numbers_.data() + options.beside_input, 1,
                              numbers_.data() + inputs.size() + own, 1));
  }

  bool is_supported() {
    const baleen_region_t region = this->region();
    return device_.table().supports(device_.get(), &region) > 0;
  }

  baleen_status_t compile(baleen_kernel_t& kernel) {
    const baleen_compute_t& table = device_.table();
    const baleen_region_t region = this->region();
    EXPECT_GT(table.supports(device_.get(), &region), 0u) << view(views_[0].kind);
    kernel.size = sizeof kernel;
    return table.compile(device_.get(), &region, &kernel);
  }

  baleen_status_t run() {
    baleen_kernel_t kernel{};
    if (const auto status = compile(kernel); status != BALEEN_OK) return status;
    const auto status = launch(kernel);
    device_.table().release(device_.get(), kernel.kernel);
    return status;
  }

 private:
  /// The op of the first inputs, and the one behind it, which takes its result as the first of its own. That is nowhere
  /// in memory.
  void add_chain(const OpSpec& op) {
    const auto interior = static_cast<std::uint32_t>(tensors_.size());
    const std::size_t first = options_.first_inputs;
    tensors_.push_back(tensors_[first == 1 ? 0 : inputs_.size()]);
    behind_inputs_ = {interior};
    behind_inputs_.insert(behind_inputs_.end(), numbers_.begin() + static_cast<std::ptrdiff_t>(first),
                          numbers_.begin() + std::ssize(inputs_));
    other_attributes_ = options_.behind->view();
    first_outputs_ = {interior};
    first_outputs_.insert(first_outputs_.end(), numbers_.end() - static_cast<std::ptrdiff_t>(options_.first_outputs),
                          numbers_.end());
    views_.push_back(describe(op, attributes_, numbers_.data(), first, first_outputs_.data(), first_outputs_.size()));
    views_.push_back(describe(*options_.behind, other_attributes_, behind_inputs_.data(), behind_inputs_.size(),
                              numbers_.data() + inputs_.size(), outputs_.size() - options_.first_outputs));
  }
  baleen_region_t region() const {
    return {sizeof(baleen_region_t), views_.data(),   views_.size(),
            tensors_.data(),         tensors_.size(), options_.kind ? kinds_ : nullptr};
  }
  static baleen_op_view_t describe(const OpSpec& op, const std::vector<baleen_attribute_t>& attributes,
                                   const std::uint32_t* inputs, std::size_t input_count, const std::uint32_t* outputs,
                                   std::size_t output_count) {
    baleen_op_view_t out{};
    out.size = sizeof out;
    out.kind = abi(op.kind());
    out.name = abi("suite.op");
    out.inputs = inputs;
    out.input_count = input_count;
    out.outputs = outputs;
    out.output_count = output_count;
    out.attributes = attributes.data();
    out.attribute_count = attributes.size();
    return out;
  }

  void place(const Tensor& t, baleen_dtype_t dtype, bool is_last) {
    Placed p;
    p.dtype = t.integer ? BALEEN_I32 : t.dtype ? t.dtype : dtype;
    p.layout = lay_out(t, options_.placement);
    p.bytes = static_cast<std::uint64_t>(p.layout.extent) * dtype_size(p.dtype);
    p.offset = next_;
    if (options_.placement == Placement::kShifted || (options_.placement == Placement::kLastShifted && is_last))
      p.offset += dtype_size(p.dtype);
    next_ = p.offset / 64 * 64 + (p.bytes + p.offset % 64 + 63) / 64 * 64 + kGuard;
    placed_.push_back(p);
    tensors_.push_back(conformance::describe(t, p, options_));
  }

  // Two outputs never share an input's bytes.
  void apply_aliases(const baleen_kernel_t& kernel, std::vector<void*>& addresses) {
    std::vector<bool> output_done(placed_.size()), input_done(placed_.size());
    for (std::uint64_t i = 0; i < kernel.alias_count; ++i) {
      const bool last = options_.aliases == RunOptions::Aliases::last;
      const auto [output, input] = kernel.aliases[last ? kernel.alias_count - 1 - i : i];
      EXPECT_TRUE(same_layout(tensors_[output], tensors_[input]));
      if (output_done[output] || input_done[input]) continue;
      output_done[output] = input_done[input] = true;
      addresses[output] = addresses[input];
      placed_[output].offset = placed_[input].offset;
    }
  }

  baleen_status_t launch(const baleen_kernel_t& kernel) {
    const baleen_compute_t& table = device_.table();
    const std::uint64_t scratch = next_, total = next_ + kernel.scratch_bytes + kGuard;
    void* memory = nullptr;
    EXPECT_EQ(table.arena_create(device_.get(), BALEEN_ARENA_PRIVATE, total, &memory), BALEEN_OK);
    char* base = static_cast<char*>(memory);
    // The host may be unable to touch the device's memory: an image of it is copied there and back.
    std::vector<char> image(total, static_cast<char>(kPoison));
    std::vector<void*> addresses;
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      if (i < inputs_.size()) write(image.data(), placed_[i], inputs_[i]);
      addresses.push_back(base + placed_[i].offset);
    }
    if (options_.behind) addresses.push_back(nullptr);
    EXPECT_EQ(table.copy(device_.get(), device_.stream(), base, image.data(), total), BALEEN_OK);
    if (options_.aliases != RunOptions::Aliases::none) apply_aliases(kernel, addresses);
    baleen_launch_t launch{sizeof launch, device_.stream(), addresses.data(), base + scratch,
                           options_.seed, options_.step,    options_.micro};
    auto status =
        options_.watch ? launch_in_blocks(kernel, launch) : table.launch(device_.get(), kernel.kernel, &launch);
    if (const auto later = table.synchronize(device_.get(), device_.stream()); status == BALEEN_OK) status = later;
    if (status == BALEEN_OK) {
      EXPECT_EQ(table.copy(device_.get(), device_.stream(), image.data(), base, total), BALEEN_OK);
      EXPECT_EQ(table.synchronize(device_.get(), device_.stream()), BALEEN_OK);
      read(image.data(), scratch, kernel.scratch_bytes);
    }
    table.arena_destroy(device_.get(), BALEEN_ARENA_PRIVATE, memory, total);
    return status;
  }

  baleen_status_t launch_in_blocks(const baleen_kernel_t& kernel, const baleen_launch_t& launch) {
    const baleen_compute_t& table = device_.table();
    const auto* blockwise =
        static_cast<const baleen_blockwise_t*>(table.query(device_.get(), abi(std::string_view(BALEEN_BLOCKWISE))));
    bool any = false;
    for (std::uint32_t tensor = 0; tensor < placed_.size(); ++tensor) {
      RunOptions::Blocks blocks;
      blocks.each = blockwise->block(device_.get(), kernel.kernel, tensor, &blocks.elements);
      options_.blocks->push_back(blocks);
      any |= blocks.each > 0;
    }
    return any ? blockwise->launch(device_.get(), kernel.kernel, &launch, options_.watch)
               : table.launch(device_.get(), kernel.kernel, &launch);
  }

  void read(char* base, std::uint64_t scratch, std::uint64_t scratch_bytes) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) take(base, placed_[inputs_.size() + i], outputs_[i]);
    std::vector<Tensor> copies = inputs_;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const bool shared = std::any_of(placed_.begin() + static_cast<std::ptrdiff_t>(inputs_.size()), placed_.end(),
                                      [&](const Placed& p) { return p.offset == placed_[i].offset; });
      take(base, placed_[i], copies[i]);
      EXPECT_TRUE(shared || same(copies[i], inputs_[i], placed_[i].dtype)) << "an input was written";
    }
    EXPECT_TRUE(all_poison(base, scratch)) << "memory beside the outputs' elements was written";
    EXPECT_TRUE(all_poison(base + scratch + scratch_bytes, kGuard)) << "memory beyond the scratch was written";
  }
  static bool same(const Tensor& after, const Tensor& before, baleen_dtype_t dtype) {
    if (!before.broadcast.empty()) return true;  // read and poisoned element by element: only the first is there
    for (std::int64_t i = 0; i < after.size(); ++i) {
      const double x = rounded(before[i], dtype);
      if (after[i] != x && !(std::isnan(after[i]) && std::isnan(x))) return false;
    }
    return true;
  }

  Device& device_;
  const std::vector<Tensor>& inputs_;
  std::vector<Tensor>& outputs_;
  RunOptions options_;
  const baleen_op_kind_t* const kinds_[2] = {options_.kind, nullptr};
  std::vector<Placed> placed_;
  std::vector<baleen_tensor_t> tensors_;
  std::vector<std::uint32_t> numbers_, behind_inputs_, first_outputs_;
  std::vector<baleen_attribute_t> attributes_, other_attributes_;
  std::vector<baleen_op_view_t> views_;
  std::uint64_t next_ = kGuard;
};

/// Text options of every device, "name=value" separated by '|': where a build runs the suite on something special.
const std::map<std::string, std::string>& texts() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> out;
    std::stringstream entries(members().options);
    for (std::string entry; std::getline(entries, entry, '|');)
      out[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
    return out;
  }();
  return all;
}

baleen_setting_t setting_of(const baleen_option_t& option,
                            const std::vector<std::pair<std::string, std::int64_t>>& given) {
  baleen_setting_t out{};
  out.name = abi(option.name);
  out.type = option.type;
  const std::string text = option.default_value;
  out.text = {option.default_value, text.size()};
  if (option.type == BALEEN_OPTION_BOOL) out.integer = text == "true";
  if (option.type == BALEEN_OPTION_INT) out.integer = std::stoll(text);
  if (option.type == BALEEN_OPTION_FLOAT) out.number = std::stod(text);
  for (const auto& [name, value] : given)
    if (name == option.name) out.integer = value;
  if (const auto text_given = texts().find(option.name); text_given != texts().end())
    out.text = abi(text_given->second);
  return out;
}

}  // namespace

OpSpec& OpSpec::integers(std::string name, std::vector<std::int64_t> values) {
  attributes_.push_back({std::move(name), std::move(values)});
  return *this;
}
OpSpec& OpSpec::number(std::string name, double value) {
  attributes_.push_back({std::move(name), std::vector<double>{value}});
  return *this;
}
OpSpec& OpSpec::text(std::string name, std::string value) {
  attributes_.push_back({std::move(name), std::move(value)});
  return *this;
}
OpSpec& OpSpec::expression(std::vector<baleen_instruction_t> code, std::vector<std::int64_t> results) {
  attributes_.push_back({"expression", std::move(code)});
  return integers("results", std::move(results));
}
std::vector<baleen_attribute_t> OpSpec::view() const {
  std::vector<baleen_attribute_t> out;
  for (const Attribute& a : attributes_)
    std::visit(
        [&](const auto& value) {
          out.push_back(
              {abi(a.name), static_cast<baleen_attribute_type_t>(a.value.index() + 1), 0, value.size(), value.data()});
        },
        a.value);
  return out;
}

Plugin::Plugin(std::string path) : path_(std::move(path)), descriptor_(read_descriptor(path_)) {
  host_.size = sizeof host_;
  host_.self = this;
  host_.log = [](void* self, baleen_level_t level, baleen_string_t text) {
    Plugin& plugin = *static_cast<Plugin*>(self);
    const std::lock_guard lock(plugin.log_lock_);
    plugin.log_ += std::to_string(level) + " " + std::string(view(text)) + "\n";
  };
  host_.fail = [](void* self, baleen_status_t status, baleen_string_t text) {
    static_cast<Plugin*>(self)->failure_ = std::string(view(text));
    return status;
  };
  host_.query = [](void*, baleen_string_t) -> const void* { return nullptr; };
  void* library = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  const auto start = reinterpret_cast<baleen_plugin_start_t>(dlsym(library, BALEEN_START_SYMBOL));
  if (!start) throw std::runtime_error(path_ + " has no " BALEEN_START_SYMBOL);
  table_.size = sizeof table_;
  if (start(&host_, &table_) != BALEEN_OK) throw std::runtime_error(path_ + " did not start: " + failure_);
}

std::string Plugin::log() const {
  const std::lock_guard lock(log_lock_);
  return log_;
}

bool Plugin::has_option(std::string_view name) const {
  return std::any_of(std::begin(descriptor_.options), std::end(descriptor_.options),
                     [&](const baleen_option_t& option) { return name == option.name; });
}

Device::Device(Plugin& plugin, const std::vector<std::pair<std::string, std::int64_t>>& options, DeviceIs is)
    : plugin_(plugin) {
  std::vector<baleen_setting_t> items;
  for (const baleen_option_t& option : plugin.descriptor().options)
    if (option.name[0]) items.push_back(setting_of(option, options));
  const baleen_settings_t settings{sizeof settings, items.size(), items.data(), 0, abi("/"), 0, 1};
  const auto* described = static_cast<const baleen_described_device_t*>(
      is == DeviceIs::kDescribed ? table().query(nullptr, abi(std::string_view(BALEEN_DESCRIBED_DEVICE))) : nullptr);
  const baleen_status_t made = (described ? described->create : table().create)(&plugin.host(), &settings, &device_);
  if (made == BALEEN_NOT_FOUND) throw NoHardware(plugin.last_failure());
  if (described && made == BALEEN_OK) return;
  if (made != BALEEN_OK || table().stream_create(device_, &stream_) != BALEEN_OK)
    throw std::runtime_error(plugin.last_failure());
}
Device::~Device() {
  if (stream_) table().stream_destroy(device_, stream_);
  table().destroy(device_);
}

baleen_status_t Device::run(const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
                            baleen_dtype_t dtype, const RunOptions& options) {
  return Run(*this, op, inputs, outputs, dtype, options).run();
}

bool Device::supports(const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs,
                      baleen_dtype_t dtype, const RunOptions& options) {
  return Run(*this, op, inputs, outputs, dtype, options).is_supported();
}

Result<baleen_kernel_t> Device::compiled(const OpSpec& op, const std::vector<Tensor>& inputs,
                                         std::vector<Tensor> outputs, baleen_dtype_t dtype, const RunOptions& options) {
  Run run(*this, op, inputs, outputs, dtype, options);
  baleen_kernel_t kernel{};
  if (const auto status = run.compile(kernel); status != BALEEN_OK) return Error{status, plugin_.last_failure(), {}};
  table().release(get(), kernel.kernel);
  return kernel;
}

std::vector<std::string> plugin_paths() {
  const char* elsewhere = std::getenv("BALEEN_TEST_COMPUTE_PLUGINS");  // the suite was carried to another machine
  if (!elsewhere) return members().plugins;
  std::vector<std::string> out;
  std::stringstream all(elsewhere);
  for (std::string path; std::getline(all, path, ':');) out.push_back(path);
  return out;
}

std::string case_name(const testing::TestParamInfo<std::tuple<std::string, baleen_dtype_t>>& info) {
  std::string stem = std::filesystem::path(std::get<0>(info.param)).stem().string();
  stem.erase(0, std::string("baleen_compute_").size());
  return stem + "_" + std::string(dtype_name(std::get<1>(info.param)));
}

void ComputeTest::SetUp() {
  static std::map<std::string, std::unique_ptr<Plugin>> opened;
  auto& plugin = opened[std::get<0>(GetParam())];
  if (!plugin) plugin = std::make_unique<Plugin>(std::get<0>(GetParam()));
  plugin_ = plugin.get();
  const auto make = [&](std::int64_t threads) {
    return std::make_unique<Device>(
        *plugin_, std::vector<std::pair<std::string, std::int64_t>>{{"threads", threads}, {"pin", 0}});
  };
  try {
    one_ = make(1);
    two_ = make(2);
  } catch (const NoHardware& reason) {
    if (members().emulated) throw;  // what this build makes itself is there
    GTEST_SKIP() << "needs a device: " << reason.what();
  }
}

bool ComputeTest::supports(const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs) {
  return two_->supports(op, inputs, std::move(outputs), dtype());
}

std::vector<Tensor> ComputeTest::run(const OpSpec& op, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs,
                                     const RunOptions& options) {
  plugin_->clear_failure();
  EXPECT_EQ(two_->run(op, inputs, outputs, dtype(), options), BALEEN_OK)
      << op.kind() << ": " << plugin_->last_failure();
  return outputs;
}

void ComputeTest::expect(const OpSpec& op, const std::vector<Tensor>& inputs, const std::vector<Tensor>& wanted,
                         double tolerance, bool same_bits, RunOptions options) {
  for (const Placement placement : kPlacements)
    for (const auto aliases : {RunOptions::Aliases::none, RunOptions::Aliases::first, RunOptions::Aliases::last}) {
      const char* in_place = aliases == RunOptions::Aliases::none ? "" : ", in place";
      if (is_shifted(placement) && aliases != RunOptions::Aliases::none) continue;
      options.placement = placement;
      options.aliases = aliases;
      const std::vector<Tensor> got = run(op, inputs, wanted, options);
      std::vector<Tensor> single = got;
      if (plugin_->has_option("threads")) {
        ASSERT_EQ(one_->run(op, inputs, single, dtype(), options), BALEEN_OK);
      }
      for (std::size_t k = 0; k < wanted.size(); ++k)
        for (std::int64_t i = 0; i < wanted[k].size(); ++i) {
          const double w = wanted[k][i], g = got[k][i];
          const bool close = std::isnan(w) ? std::isnan(g) : g == w || std::abs(g - w) <= tolerance * (1 + std::abs(w));
          ASSERT_TRUE(close) << op.kind() << ", " << name(placement) << in_place << ": output " << k << " element " << i
                             << " is " << g << ", wanted " << w;
          const bool equal = single[k][i] == g || (std::isnan(g) && std::isnan(single[k][i]));
          ASSERT_TRUE(equal || !same_bits)
              << op.kind() << ", " << name(placement) << ": output " << k << " element " << i
              << " depends on the number of threads: " << single[k][i] << " and " << g;
        }
    }
}

}  // namespace baleen::conformance
