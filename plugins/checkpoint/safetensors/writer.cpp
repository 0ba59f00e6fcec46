/// \file The layout (tensors by alignment, then name) and the atomic replacement.
#include "writer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <unordered_set>

#include "baleen/dtype.hpp"
#include "header.hpp"
#include "temporary.hpp"

namespace baleen::safetensors {
namespace {

Status check_tensors(std::span<const baleen_named_tensor_t> tensors) {
  std::unordered_set<std::string_view> names;
  for (const baleen_named_tensor_t& tensor : tensors) {
    const std::string name(view(tensor.name));
    if (name.empty() || name == "__metadata__" || name.size() > kMaxName)
      return invalid("a tensor cannot be named `" + name + "` in this format");
    if (!names.insert(view(tensor.name)).second) return invalid("two tensors are named `" + name + "`");
    if (to_name(tensor.dtype).empty() || tensor.rank > BALEEN_MAX_RANK)
      return internal("tensor `" + name + "` has no known dtype or more than 8 dimensions");
    const auto count = std::accumulate(tensor.shape, tensor.shape + tensor.rank, std::int64_t{1}, std::multiplies<>());
    if (static_cast<std::uint64_t>(count) * dtype_size(tensor.dtype) != tensor.bytes || (tensor.bytes && !tensor.data))
      return internal("tensor `" + name + "`: its shape and its " + std::to_string(tensor.bytes) + " bytes disagree");
  }
  return {};
}

/// Largest elements first, so that every tensor is aligned to its elements; then by name.
std::vector<std::size_t> file_order(std::span<const baleen_named_tensor_t> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto size_a = dtype_size(tensors[a].dtype), size_b = dtype_size(tensors[b].dtype);
    return size_a != size_b ? size_a > size_b : view(tensors[a].name) < view(tensors[b].name);
  });
  return order;
}

}  // namespace

Status write_file(std::string_view path, std::span<const baleen_named_tensor_t> tensors, const Facts& facts) {
  BALEEN_TRY(check_tensors(tensors));
  const std::vector<std::size_t> order = file_order(tensors);
  std::vector<Entry> entries;
  std::uint64_t place = 0;
  for (std::size_t i : order) {
    const baleen_named_tensor_t& tensor = tensors[i];
    Entry entry{std::string(view(tensor.name)), std::string(to_name(tensor.dtype)), {}, place, place + tensor.bytes};
    entry.shape.assign(tensor.shape, tensor.shape + tensor.rank);
    place = entry.end;
    entries.push_back(std::move(entry));
  }
  Facts metadata = {{"format", "pt"}};  // what Hugging Face's loaders look for
  for (const auto& fact : facts)
    if (fact.first != "format") metadata.push_back(fact);
  BALEEN_TRY_ASSIGN(const std::string header, compose_header(entries, metadata));

  const std::string target(path);
  BALEEN_TRY_ASSIGN(Temporary file, Temporary::beside(target));
  const auto length = std::bit_cast<std::array<std::byte, 8>>(static_cast<std::uint64_t>(header.size()));
  BALEEN_TRY(file.write(length));
  BALEEN_TRY(file.write(std::as_bytes(std::span(header))));
  for (std::size_t i : order)
    BALEEN_TRY(file.write({static_cast<const std::byte*>(tensors[i].data), tensors[i].bytes}));
  return file.rename_to(target);
}

}  // namespace baleen::safetensors
