/// \file Finds blocks by the paths of layers, which are the names of ops.
#include "blocks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "baleen/pattern.hpp"

namespace baleen::recompute {
namespace {

/// "a", "a.b", "a.b.c" of "a.b.c".
std::vector<std::string> paths_of(const std::string& name) {
  std::vector<std::string> paths;
  for (std::size_t end = name.find('.'); end != std::string::npos; end = name.find('.', end + 1))
    paths.push_back(name.substr(0, end));
  paths.push_back(name);
  return paths;
}

/// The layer that the tag of an op names: the last part of its path that reads so.
std::string tagged_path(const ForwardOp& op) {
  std::string found;
  for (const std::string& path : paths_of(op.name)) {
    const std::size_t dot = path.rfind('.');
    if (path.substr(dot == std::string::npos ? 0 : dot + 1) == op.block) found = path;
  }
  return found;
}

std::vector<std::string> by_tag(const ForwardPass& pass) {
  std::set<std::string> layers;
  for (const ForwardOp& op : pass.ops())
    if (!op.block.empty()) layers.insert(tagged_path(op));
  layers.erase("");
  // Ops that passes and strategies have added have no tag, and the name of what they belong to.
  std::vector<std::string> layer_of;
  for (const ForwardOp& op : pass.ops()) {
    std::string& layer = layer_of.emplace_back();
    for (const std::string& path : paths_of(op.name))
      if (layers.contains(path)) layer = path;
  }
  return layer_of;
}

Result<std::vector<std::string>> by_patterns(const ForwardPass& pass, const std::vector<std::string>& patterns) {
  std::vector<std::string> layer_of;
  std::set<std::string> matched, known;
  for (const ForwardOp& op : pass.ops()) {
    std::string& layer = layer_of.emplace_back();
    for (const std::string& path : paths_of(op.name)) {
      known.insert(path);
      for (const std::string& pattern : patterns) {
        if (!matches(pattern, path)) continue;
        matched.insert(pattern);
        if (layer.empty()) layer = path;
      }
    }
  }
  for (const std::string& pattern : patterns) {
    if (matched.contains(pattern)) continue;
    std::string some;
    std::size_t listed = 0;
    for (const std::string& path : known)
      if (!path.empty() && listed++ < 4) some += (some.empty() ? "`" : ", `") + path + "`";
    return invalid("`blocks` names `" + pattern + "`, and no layer is called so; take paths of layers, as " + some +
                   ", with * for any text");
  }
  return layer_of;
}

/// A cast, or a collective, that only one other block reads is that block's: what is kept is what it converts.
void move_conversions(const ForwardPass& pass, std::vector<int>& of) {
  for (std::size_t i = pass.size(); i-- > 0;) {
    const ForwardOp& op = pass[i];
    if (!op.converts || op.readers.empty()) continue;
    const int reader = of[op.readers[0]];
    if (reader >= 0 && std::ranges::all_of(op.readers, [&](std::size_t r) { return of[r] == reader; })) of[i] = reader;
  }
}

}  // namespace

Result<Blocks> find_blocks(const ForwardPass& pass, const std::vector<std::string>& patterns) {
  std::vector<std::string> layer_of;
  if (patterns.empty()) {
    layer_of = by_tag(pass);
  } else {
    BALEEN_TRY_ASSIGN(layer_of, by_patterns(pass, patterns));
  }
  Blocks blocks;
  std::map<std::string, int> numbers;
  for (const std::string& layer : layer_of) {
    if (layer.empty()) {
      blocks.of.push_back(-1);
      continue;
    }
    const auto [it, is_new] = numbers.try_emplace(layer, blocks.count());
    if (is_new) blocks.names.push_back(layer);
    blocks.of.push_back(it->second);
  }
  move_conversions(pass, blocks.of);
  return blocks;
}

bool is_read_outside(const ForwardPass& pass, const Blocks& blocks, std::size_t op) {
  return std::ranges::any_of(pass[op].readers, [&](std::size_t reader) {
    return blocks.of[reader] != blocks.of[op] || (pass[reader].view && is_read_outside(pass, blocks, reader));
  });
}

bool is_read_from(const ForwardPass& pass, std::size_t op, std::size_t end) {
  return std::ranges::any_of(pass[op].readers, [&](std::size_t reader) {
    return reader >= end || (pass[reader].view && is_read_from(pass, reader, end));
  });
}

}  // namespace baleen::recompute
