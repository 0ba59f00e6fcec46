/// \file Shards of a checkpoint plugin as tests drive them: pieces of whole tensors that are known, element by element.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <numeric>
#include <optional>

#include "support/checkpoint_run.hpp"

namespace baleen::test {

using TestRanges = std::vector<baleen_range_t>;

/// A piece of a tensor; no list of ranges: all of the dimension.
struct TestPiece {
  const NamedTensor* whole;
  std::vector<TestRanges> ranges = {};
  std::optional<baleen_range_t> flat = {};

  /// Row-major numbers in the whole tensor, one by one in the order in which the piece holds them.
  std::vector<std::int64_t> elements() const {
    std::vector<std::int64_t> numbers{0};
    for (std::size_t d = 0; d < whole->shape.size(); ++d) {
      TestRanges list = d < ranges.size() ? ranges[d] : TestRanges();
      if (list.empty()) list = {{0, whole->shape[d]}};
      std::vector<std::int64_t> next;
      for (const std::int64_t outer : numbers)
        for (const baleen_range_t& range : list)
          for (std::int64_t i = range.begin; i < range.end; ++i) next.push_back(outer * whole->shape[d] + i);
      numbers = std::move(next);
    }
    if (flat) numbers = {numbers.begin() + flat->begin, numbers.begin() + flat->end};
    return numbers;
  }
  /// What it holds.
  std::string bytes() const {
    const std::size_t size = dtype_size(whole->dtype);
    std::string result;
    for (const std::int64_t element : elements()) result += whole->bytes.substr(element * size, size);
    return result;
  }
  /// Of memory for it, which lives longer.
  baleen_shard_t view(std::string& memory) const {
    baleen_shard_t shard{};
    shard.size = sizeof shard;
    shard.name = abi(whole->name);
    shard.dtype = whole->dtype;
    shard.rank = static_cast<std::uint32_t>(whole->shape.size());
    std::copy(whole->shape.begin(), whole->shape.end(), shard.shape);
    for (std::size_t d = 0; d < ranges.size(); ++d) {
      shard.ranges[d] = ranges[d].data();
      shard.range_count[d] = static_cast<std::uint32_t>(ranges[d].size());
    }
    shard.is_flat = flat ? 1 : 0;
    shard.flat = flat.value_or(baleen_range_t{});
    shard.bytes = memory.size();
    shard.data = memory.data();
    return shard;
  }
};

class ShardRun {
 public:
  explicit ShardRun(const std::string& path)
      : plugin(path),
        table_(plugin.table.query
                   ? static_cast<const baleen_checkpoint_shards_t*>(plugin.table.query(abi(BALEEN_CHECKPOINT_SHARDS)))
                   : nullptr) {}
  bool available() const { return table_ != nullptr; }

  /// What it fails with; "" where it does not.
  std::string write(const std::string& folder, const std::string& attempt, int writer, int writers,
                    const std::vector<TestPiece>& pieces) {
    std::vector<std::string> memory;
    for (const TestPiece& piece : pieces) memory.push_back(piece.bytes());
    std::vector<baleen_shard_t> shards;
    for (std::size_t i = 0; i < pieces.size(); ++i) shards.push_back(pieces[i].view(memory[i]));
    return text(
        table_->write(plugin.host->get(), abi(folder), abi(attempt), writer, writers, shards.data(), shards.size()));
  }
  std::string commit(const std::string& folder, const std::string& attempt, int writers, const TestFacts& facts = {}) {
    std::vector<baleen_string_t> pairs;
    for (const auto& [name, fact] : facts) {
      pairs.push_back(abi(name));
      pairs.push_back(abi(fact));
    }
    return text(table_->commit(plugin.host->get(), abi(folder), abi(attempt), writers, pairs.data(), facts.size()));
  }
  std::string verify(const std::string& folder) { return text(table_->verify(plugin.host->get(), abi(folder))); }
  std::string remove(const std::string& folder) { return text(table_->remove(plugin.host->get(), abi(folder))); }
  /// Reads pieces one by one; the first failure, with the status, or "".
  std::string read(const std::string& folder, const std::vector<TestPiece>& pieces, std::vector<std::string>& bytes) {
    void* reader = nullptr;
    if (const auto status = table_->open(plugin.host->get(), abi(folder), &reader); status != BALEEN_OK)
      return text(status);
    const std::unique_ptr<void, void (*)(void*)> open(reader, table_->close);
    bytes.clear();
    for (const TestPiece& piece : pieces) {
      bytes.emplace_back(piece.elements().size() * dtype_size(piece.whole->dtype), '?');
      const baleen_shard_t shard = piece.view(bytes.back());
      if (const auto status = table_->read(reader, &shard); status != BALEEN_OK) return text(status);
    }
    return {};
  }
  std::string failure_of_reading(const std::string& folder, const std::vector<TestPiece>& pieces = {}) {
    std::vector<std::string> bytes;
    return read(folder, pieces, bytes);
  }
  /// The listed tensors, without contents.
  std::vector<NamedTensor> list(const std::string& folder, TestFacts& facts) {
    void* reader = nullptr;
    if (table_->open(plugin.host->get(), abi(folder), &reader) != BALEEN_OK) return {};
    const std::unique_ptr<void, void (*)(void*)> open(reader, table_->close);
    const baleen_named_tensor_t* tensors = nullptr;
    const baleen_string_t* pairs = nullptr;
    std::uint64_t count = 0, fact_count = 0;
    if (table_->list(reader, &tensors, &count, &pairs, &fact_count) != BALEEN_OK) return {};
    std::vector<NamedTensor> result;
    for (std::uint64_t i = 0; i < count; ++i)
      result.push_back({std::string(view(tensors[i].name)),
                        tensors[i].dtype,
                        {tensors[i].shape, tensors[i].shape + tensors[i].rank},
                        {}});
    for (std::uint64_t i = 0; i < fact_count; ++i) facts[std::string(view(pairs[2 * i]))] = view(pairs[2 * i + 1]);
    return result;
  }

  PluginUnderTest<baleen_checkpoint_t> plugin;

 private:
  std::string text(baleen_status_t status) const { return status == BALEEN_OK ? "" : plugin.host->failure(); }

  const baleen_checkpoint_shards_t* table_;
};

/// Does it in a process that is killed right behind it.
inline void do_and_be_killed(const std::function<void()>& what) {
  const pid_t child = ::fork();
  if (child == 0) {
    what();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

}  // namespace baleen::test
