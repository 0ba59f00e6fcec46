/// \file A checkpoint plugin that writes and reads shards (BALEEN_CHECKPOINT_SHARDS), with C++ errors.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/checkpoint.h"
#include "compiler/plan/plan.hpp"
#include "core/plugin/registry.hpp"

namespace baleen {

/// What a checkpoint says about itself, by name.
using CheckpointFacts = std::map<std::string, std::string>;

/// A checkpoint's folder that is open; validated. [one thread]
class ShardFolder {
 public:
  ~ShardFolder();
  ShardFolder(const ShardFolder&) = delete;

  /// The whole tensors by name.
  const std::map<std::string, ValueType>& tensors() const { return tensors_; }
  const CheckpointFacts& facts() const { return facts_; }
  Status read(const baleen_shard_t& shard) const;

 private:
  friend class ShardFormat;
  ShardFolder(Plugin plugin, const baleen_checkpoint_shards_t& table) : plugin_(std::move(plugin)), table_(table) {}

  Plugin plugin_;
  baleen_checkpoint_shards_t table_;
  void* reader_ = nullptr;
  std::map<std::string, ValueType> tensors_;
  CheckpointFacts facts_;
};

/// [one thread at a time]
class ShardFormat {
 public:
  /// The plugin `name`, which must have shards; an empty name: the best one that has. `where` is the place in the
  /// user's file, for messages.
  static Result<ShardFormat> find(const Registry& plugins, std::string_view name, const std::string& where);

  Status write(const std::string& folder, const std::string& attempt, std::int32_t writer, std::int32_t writers,
               std::span<const baleen_shard_t> shards) const;
  Status commit(const std::string& folder, const std::string& attempt, std::int32_t writers,
                const CheckpointFacts& facts) const;
  Result<std::unique_ptr<ShardFolder>> open(const std::string& folder) const;
  /// Deletes a checkpoint's files, committed or not, and the folder with them, unless it holds others.
  Status remove(const std::string& folder) const;
  /// Reads every byte and compares checksums.
  Status verify(const std::string& folder) const;

  const Descriptor& descriptor() const { return plugin_.descriptor(); }

 private:
  ShardFormat(Plugin plugin, const baleen_checkpoint_shards_t& table) : plugin_(std::move(plugin)), table_(table) {}

  Plugin plugin_;
  baleen_checkpoint_shards_t table_;
};

}  // namespace baleen
