/// \file Numbers of eight bytes, texts with their length before them. One walk describes both directions.
#include "letter.hpp"

#include <cstring>
#include <type_traits>

namespace baleen::shm {
namespace {

struct Writer {
  std::string bytes;

  template <class T>
  void number(const T& value) {
    const auto wide = static_cast<std::uint64_t>(value);
    bytes.append(reinterpret_cast<const char*>(&wide), sizeof wide);
  }
  void text(const std::string& value) {
    number(value.size());
    bytes += value;
  }
  template <class List, class Body>
  void list(const List& values, const Body& body) {
    number(values.size());
    for (const auto& value : values) body(value);
  }
};

struct Reader {
  const std::string& bytes;
  std::size_t at = 0;
  bool whole = true;  // nothing was missing so far

  template <class T>
  void number(T& value) {
    std::uint64_t wide = 0;
    if (bytes.size() - at < sizeof wide) {
      whole = false;
      at = bytes.size();
    } else {
      std::memcpy(&wide, bytes.data() + at, sizeof wide);
      at += sizeof wide;
    }
    value = static_cast<T>(wide);
  }
  void text(std::string& value) {
    std::uint64_t size = 0;
    number(size);
    whole = whole && size <= bytes.size() - at;
    if (!whole) return;
    value = bytes.substr(at, size);
    at += size;
  }
  template <class List, class Body>
  void list(List& values, const Body& body) {
    std::uint64_t size = 0;
    number(size);
    whole = whole && size <= bytes.size() - at;  // an item has a byte at least
    if (!whole) return;
    values.resize(size);
    for (auto& value : values) body(value);
  }
};

template <class Stream, class T>
void numbers(Stream& stream, T& values) {
  stream.list(values, [&](auto& value) { stream.number(value); });
}

template <class Stream, class C>
void walk_collective(Stream& stream, C& c) {
  stream.number(c.op);
  stream.number(c.reduction);
  stream.number(c.dtype);
  stream.number(c.deterministic);
  stream.number(c.root);
  stream.number(c.place);
  stream.number(c.members);
  stream.list(c.entries, [&](auto& e) {
    stream.number(e.count);
    stream.number(e.block);
    numbers(stream, e.sends);
    numbers(stream, e.receives);
  });
  numbers(stream, c.destinations);
  stream.text(c.where);
}

template <class Stream, class L>
void walk(Stream& stream, L& letter) {
  auto& p = letter.proposal;
  stream.number(p.rank);
  stream.number(p.number);
  numbers(stream, p.ranks);
  numbers(stream, p.present);
  stream.text(p.refusal);
  bool has_collective = p.collective.has_value();
  stream.number(has_collective);
  if constexpr (!std::is_const_v<L>)
    if (has_collective) p.collective.emplace();
  if (has_collective) walk_collective(stream, *p.collective);
  stream.list(letter.places, [&](auto& place) {
    for (auto* location : {&place.first, &place.second}) {
      stream.number(location->arena);
      stream.number(location->offset);
      stream.number(location->exists);
    }
  });
  stream.list(letter.news, [&](auto& news) {
    stream.number(news.arena);
    stream.number(news.bytes);
  });
  stream.number(letter.memory_bytes);
}

}  // namespace

std::string encode(const Letter& letter) {
  Writer writer;
  walk(writer, letter);
  return std::move(writer.bytes);
}

Result<Letter> decode(const std::string& bytes) {
  Letter letter;
  Reader reader{bytes};
  walk(reader, letter);
  if (!reader.whole || reader.at != bytes.size())
    return internal("shm: a letter from another rank makes no sense; do all ranks run the same version?");
  return letter;
}

}  // namespace baleen::shm
