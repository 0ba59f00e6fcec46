/// \file One file a writer, described in its own metadata; the index is made of these, checked and renamed to its
/// place.
#include "shard_writer.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "baleen/dtype.hpp"
#include "header.hpp"
#include "reader.hpp"
#include "shard_index.hpp"
#include "temporary.hpp"
#include "writer.hpp"

namespace baleen::safetensors {
namespace {

namespace fs = std::filesystem;

Status make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0) {
    if (errno == EEXIST) return {};  // another rank was first, or an earlier checkpoint is there
    return system_error("cannot make the folder", folder);
  }
  return sync_folder(fs::path(folder).parent_path().string());
}

Result<Region> region_of(const Shard& shard) {
  const std::string who = "shard of `" + shard.name + "` (" + type_text(shard.dtype, shard.shape) + "): ";
  auto region = Region::of(shard.shape, shard.ranges, shard.flat);
  if (!region) return invalid(who + region.error().message);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(region->elements(), static_cast<std::int64_t>(dtype_size(shard.dtype)), &bytes) ||
      static_cast<std::uint64_t>(bytes) != shard.data.size())
    return internal(who + "has " + std::to_string(region->elements()) + " elements and " +
                    std::to_string(shard.data.size()) + " bytes");
  return region;
}

/// Adds what one writer's file holds.
Status add_file(const Host& host, const std::string& folder, std::size_t writer, ShardIndex& index) {
  const std::string name = index.file_name(writer), path = folder + "/" + name;
  auto opened = Reader::open(host, path);
  if (!opened && opened.error().code == BALEEN_NOT_FOUND)
    return Error{BALEEN_NOT_FOUND,
                 "writer " + std::to_string(writer) + " of " + std::to_string(index.files.size()) +
                     " has written no shards under `" + index.attempt +
                     "`; commit when `write` has returned on every rank",
                 path};
  if (!opened) return opened.error();
  const CheckpointReader& file = **opened;
  const auto at_file = [&](const std::string& what) { return invalid(what, path); };
  const auto described =
      std::find_if(file.facts().begin(), file.facts().end(), [](const auto& fact) { return fact.first == kPiecesKey; });
  if (described == file.facts().end()) return at_file("has no description of shards; write it again");
  auto pieces = parse_pieces(described->second);
  if (!pieces) return at_file(pieces.error().message);
  if (shard_file_name(pieces->writer.attempt, pieces->writer.number, pieces->writer.count) != name ||
      pieces->pieces.size() != file.tensors().size())
    return at_file("is of another writer or attempt than its name says; write it again");
  for (const StoredTensor& stored : file.tensors()) {
    const auto piece = pieces->pieces.find(stored.name);
    if (piece == pieces->pieces.end() || piece->second.region.local_shape() != stored.shape)
      return at_file("tensor `" + stored.name + "`: its description and its shape disagree; write it again");
    const Region& region = piece->second.region;
    const auto [found, added] =
        index.tensors.try_emplace(stored.name, ShardIndex::Tensor{stored.dtype, region.shape, {}});
    ShardIndex::Tensor& tensor = found->second;
    if (tensor.dtype != stored.dtype || tensor.shape != region.shape)
      return at_file("tensor `" + stored.name + "` is " + type_text(stored.dtype, region.shape) + " here and " +
                     type_text(tensor.dtype, tensor.shape) + " in " + index.file_name(tensor.pieces.front().file) +
                     "; all ranks name the whole tensor");
    const bool is_copy = std::any_of(tensor.pieces.begin(), tensor.pieces.end(),
                                     [&](const ShardIndex::Piece& other) { return other.region == region; });
    if (!is_copy) tensor.pieces.push_back({piece->second, writer});
  }
  index.files[writer] = {fs::file_size(path), static_cast<const Reader&>(file).header_checksum()};
  return {};
}

/// Whether a file of this name was written here, whole or in part, whatever the attempt.
bool is_shard(const std::string& name) {
  return name.starts_with("shard-") && name.find(".safetensors") != std::string::npos;
}
bool is_partial_index(const std::string& name) { return name.starts_with(std::string(kIndexName) + ".partial."); }

/// What other attempts have left. That some file of theirs stays does no harm.
void remove_others(const std::string& folder, const ShardIndex& index) {
  std::error_code ignored;
  std::set<std::string> ours;
  for (std::size_t i = 0; i < index.files.size(); ++i) ours.insert(index.file_name(i));
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if ((is_shard(name) && !ours.contains(name)) || is_partial_index(name)) others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove(path, ignored);
}

}  // namespace

Status write_shards(const std::string& folder, const ShardWriter& writer, std::span<const Shard> shards) {
  BALEEN_TRY(check_attempt(writer.attempt));
  if (writer.count < 1 || writer.number < 0 || writer.number >= writer.count)
    return internal("writer " + std::to_string(writer.number) + " of " + std::to_string(writer.count));
  if (const auto committed = read_index(folder); committed && committed->attempt == writer.attempt)
    return invalid("`" + writer.attempt + "` is committed here already; write the next checkpoint under another name",
                   folder);
  ShardPieces pieces{writer, {}};
  std::vector<baleen_named_tensor_t> tensors;
  for (const Shard& shard : shards) {
    BALEEN_TRY_ASSIGN(const Region region, region_of(shard));
    baleen_named_tensor_t tensor{};
    tensor.name = abi(shard.name);
    tensor.dtype = shard.dtype;
    const std::vector<std::int64_t> local = region.local_shape();
    tensor.rank = static_cast<std::uint32_t>(local.size());
    std::copy(local.begin(), local.end(), tensor.shape);
    tensor.bytes = shard.data.size();
    tensor.data = shard.data.data();
    tensors.push_back(tensor);
    pieces.pieces.insert_or_assign(shard.name, WrittenPiece{region, 0});
  }
  BALEEN_TRY(make_folder(folder));
  return write_file(folder + "/" + shard_file_name(writer.attempt, writer.number, writer.count), tensors,
                    [&](std::span<const std::uint64_t> checksums) -> Result<Facts> {
                      for (std::size_t i = 0; i < shards.size(); ++i)
                        pieces.pieces.at(shards[i].name).checksum = checksums[i];
                      BALEEN_TRY_ASSIGN(std::string described, compose_pieces(pieces));
                      return Facts{{kPiecesKey, std::move(described)}};
                    });
}

Status remove_shards(const std::string& folder) {
  // First what makes it a checkpoint, so that half of one is never taken for one.
  const std::string index = folder + "/" + kIndexName;
  if (::unlink(index.c_str()) != 0 && errno != ENOENT) return system_error("cannot delete", index);
  std::error_code failure;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (is_shard(name) || is_partial_index(name)) files.push_back(entry.path());
  }
  for (const fs::path& path : files)
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("cannot delete", path.string());
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
    return system_error("cannot delete the folder", folder);
  return {};
}

Status commit_shards(const Host& host, const std::string& folder, const std::string& attempt, std::int32_t writers,
                     const Facts& facts) {
  BALEEN_TRY(check_attempt(attempt));
  if (writers < 1) return internal("a checkpoint of " + std::to_string(writers) + " writers");
  ShardIndex index;
  index.attempt = attempt;
  index.facts = facts;
  index.files.resize(static_cast<std::size_t>(writers));
  for (std::size_t writer = 0; writer < index.files.size(); ++writer) BALEEN_TRY(add_file(host, folder, writer, index));
  for (const auto& [name, tensor] : index.tensors)
    if (auto held = held_stretches(index, name); !held) return invalid(held.error().message, folder);
  BALEEN_TRY_ASSIGN(const std::string json, compose_index(index));
  const std::string path = folder + "/" + kIndexName;
  BALEEN_TRY_ASSIGN(Temporary file, Temporary::beside(path));
  BALEEN_TRY(file.write(0, std::as_bytes(std::span(json))));
  BALEEN_TRY(file.rename_to(path));
  remove_others(folder, index);
  return {};
}

}  // namespace baleen::safetensors
