/// \file A checkpoint plugin as tests drive it: tensors of numbers to a file and back.
#pragma once
#include <map>

#include "baleen/checkpoint.h"
#include "baleen/dtype.hpp"
#include "support/plugin_under_test.hpp"

namespace baleen::test {

/// A named tensor with its bytes.
struct NamedTensor {
  std::string name;
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<std::int64_t> shape;
  std::string bytes;

  bool operator==(const NamedTensor&) const = default;
};

/// A tensor whose bytes are reproducible and all used: also NaN patterns come and go unchanged.
inline NamedTensor some_tensor(std::string name, baleen_dtype_t dtype, std::vector<std::int64_t> shape) {
  std::size_t bytes = dtype_size(dtype);
  for (std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
  NamedTensor tensor{std::move(name), dtype, std::move(shape), std::string(bytes, '\0')};
  for (std::size_t i = 0; i < bytes; ++i) tensor.bytes[i] = static_cast<char>(37 * i + tensor.name.size());
  return tensor;
}

using TestFacts = std::map<std::string, std::string>;

class CheckpointRun {
 public:
  explicit CheckpointRun(const std::string& path) : plugin(path) {}

  /// The status; the text is the host's.
  baleen_status_t write(const std::string& path, const std::vector<NamedTensor>& tensors, const TestFacts& facts = {}) {
    std::vector<baleen_named_tensor_t> views;
    for (const NamedTensor& tensor : tensors) {
      baleen_named_tensor_t item{};
      item.name = abi(tensor.name);
      item.dtype = tensor.dtype;
      item.rank = static_cast<std::uint32_t>(tensor.shape.size());
      std::copy(tensor.shape.begin(), tensor.shape.end(), item.shape);
      item.bytes = tensor.bytes.size();
      item.data = const_cast<char*>(tensor.bytes.data());
      views.push_back(item);
    }
    std::vector<baleen_string_t> pairs;
    for (const auto& [name, text] : facts) {
      pairs.push_back(abi(name));
      pairs.push_back(abi(text));
    }
    return plugin.table.write(plugin.host->get(), abi(path), views.data(), views.size(), pairs.data(), facts.size());
  }

  /// What the file holds, in its order. Throws what the plugin reported.
  std::vector<NamedTensor> read(const std::string& path, TestFacts* facts = nullptr) {
    void* opened = nullptr;
    check(plugin.table.open(plugin.host->get(), abi(path), &opened));
    const std::unique_ptr<void, void (*)(void*)> reader(opened, plugin.table.close);
    const baleen_named_tensor_t* tensors = nullptr;
    const baleen_string_t* pairs = nullptr;
    std::uint64_t count = 0, fact_count = 0;
    check(plugin.table.list(opened, &tensors, &count, &pairs, &fact_count));
    std::vector<NamedTensor> result;
    for (std::uint64_t i = 0; i < count; ++i) {
      NamedTensor tensor{std::string(view(tensors[i].name)), tensors[i].dtype, {}, std::string(tensors[i].bytes, '?')};
      tensor.shape.assign(tensors[i].shape, tensors[i].shape + tensors[i].rank);
      check(plugin.table.read(opened, i, tensor.bytes.data(), tensor.bytes.size()));
      result.push_back(std::move(tensor));
    }
    for (std::uint64_t i = 0; facts && i < fact_count; ++i)
      (*facts)[std::string(view(pairs[2 * i]))] = view(pairs[2 * i + 1]);
    return result;
  }

  /// What reading the file fails with; "" where it succeeds.
  std::string failure_of_reading(const std::string& path) {
    try {
      read(path);
      return {};
    } catch (const std::runtime_error& problem) {
      return problem.what();
    }
  }

  PluginUnderTest<baleen_checkpoint_t> plugin;

 private:
  void check(baleen_status_t status) const {
    if (status != BALEEN_OK) throw std::runtime_error(plugin.host->failure());
  }
};

}  // namespace baleen::test
