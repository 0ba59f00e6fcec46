/// \file Token files as bytes: llm.c's two headers, and raw ids.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

template <class T>
std::string raw_ids(std::size_t count, T first = 0) {
  std::vector<T> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<T>(first + i);
  return {reinterpret_cast<const char*>(ids.data()), count * sizeof(T)};
}

inline std::string llmc_header(std::int32_t magic, std::int32_t version, std::int32_t tokens) {
  std::string header(1024, '\0');
  const std::int32_t words[] = {magic, version, tokens};
  std::memcpy(header.data(), words, sizeof(words));
  return header;
}
