/// \file Calls of the shards' table.
#include "frontend/checkpoint/shard_format.hpp"

#include <algorithm>

#include "baleen/plugin.hpp"
#include "baleen/sized.hpp"

namespace baleen {
namespace {

/// Null where the plugin has none.
Result<const baleen_checkpoint_shards_t*> shards_of(const Plugin& plugin) {
  BALEEN_TRY_ASSIGN(const auto* table, plugin.table<baleen_checkpoint_t>("checkpoint"));
  if (!table->query) return static_cast<const baleen_checkpoint_shards_t*>(nullptr);
  return static_cast<const baleen_checkpoint_shards_t*>(table->query(abi(BALEEN_CHECKPOINT_SHARDS)));
}

bool is_whole(const baleen_checkpoint_shards_t& table) {
  return table.write && table.commit && table.open && table.list && table.read && table.close && table.remove &&
         table.verify;
}

}  // namespace

Result<ShardFormat> ShardFormat::find(const Registry& plugins, std::string_view name, const std::string& where) {
  std::vector<Descriptor> candidates;
  if (!name.empty()) {
    BALEEN_TRY_ASSIGN(Descriptor named, plugins.find("checkpoint", name, where));
    candidates.push_back(std::move(named));
  } else {
    for (const Descriptor& one : plugins.descriptors())
      if (one.kind == "checkpoint" && one.score >= 0) candidates.push_back(one);
    std::ranges::stable_sort(candidates, std::ranges::greater(), &Descriptor::score);
  }
  for (const Descriptor& candidate : candidates) {
    BALEEN_TRY_ASSIGN(Plugin plugin, plugins.open(candidate));
    BALEEN_TRY_ASSIGN(const auto* table, shards_of(plugin));
    if (!table) continue;
    const baleen_checkpoint_shards_t own = copy_in(table);
    if (!is_whole(own))
      return internal(title_of(candidate) + " lacks functions of " + BALEEN_CHECKPOINT_SHARDS +
                      ", which was a draft when it was built; build it anew");
    return ShardFormat(std::move(plugin), own);
  }
  if (!name.empty())
    return unsupported("checkpoint `" + std::string(name) + "` writes whole files only, no shards of several ranks",
                       where);
  return Error{BALEEN_NOT_FOUND, "no checkpoint plugin that writes shards is installed; `baleen plugins` lists all",
               where};
}

Status ShardFormat::write(const std::string& folder, const std::string& attempt, std::int32_t writer,
                          std::int32_t writers, std::span<const baleen_shard_t> shards) const {
  return plugin_.check(
      table_.write(plugin_.host(), abi(folder), abi(attempt), writer, writers, shards.data(), shards.size()));
}

Status ShardFormat::commit(const std::string& folder, const std::string& attempt, std::int32_t writers,
                           const CheckpointFacts& facts) const {
  std::vector<baleen_string_t> pairs;
  for (const auto& [name, text] : facts) {
    pairs.push_back(abi(name));
    pairs.push_back(abi(text));
  }
  return plugin_.check(
      table_.commit(plugin_.host(), abi(folder), abi(attempt), writers, pairs.data(), pairs.size() / 2));
}

Status ShardFormat::remove(const std::string& folder) const {
  return plugin_.check(table_.remove(plugin_.host(), abi(folder)));
}

Status ShardFormat::verify(const std::string& folder) const {
  return plugin_.check(table_.verify(plugin_.host(), abi(folder)));
}

Result<std::unique_ptr<ShardFolder>> ShardFormat::open(const std::string& folder) const {
  auto opened = std::unique_ptr<ShardFolder>(new ShardFolder(plugin_, table_));
  BALEEN_TRY(plugin_.check(table_.open(plugin_.host(), abi(folder), &opened->reader_)));
  const baleen_named_tensor_t* tensors = nullptr;
  const baleen_string_t* facts = nullptr;
  std::uint64_t count = 0, fact_count = 0;
  BALEEN_TRY(plugin_.check(table_.list(opened->reader_, &tensors, &count, &facts, &fact_count)));
  for (std::uint64_t i = 0; i < count; ++i)
    opened->tensors_[std::string(view(tensors[i].name))] = {tensors[i].dtype,
                                                            {tensors[i].shape, tensors[i].shape + tensors[i].rank}};
  for (std::uint64_t i = 0; i < fact_count; ++i)
    opened->facts_[std::string(view(facts[2 * i]))] = view(facts[2 * i + 1]);
  return opened;
}

Status ShardFolder::read(const baleen_shard_t& shard) const { return plugin_.check(table_.read(reader_, &shard)); }

ShardFolder::~ShardFolder() {
  if (reader_) table_.close(reader_);
}

}  // namespace baleen
