/// \file Vendor libraries, opened when they are needed: the plugin loads on machines that have none of them.
#pragma once
#include <string>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::cuda {

/// An opened shared library. Never closed: the vendor's threads and exit handlers do not survive it.
class Library {
 public:
  Library() = default;
  /// Looks in `folders`, then where the system looks, then in CUDA's usual folder. Fails with the first place's reason.
  static Result<Library> open(const std::vector<std::string>& folders, const std::string& file);

  /// Null where there is no such symbol.
  void* symbol(const char* name) const;
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace baleen::cuda

/// The text of a name after the vendor's headers have replaced it ("cuMemAlloc_v2").
#define BALEEN_SYMBOL_TEXT_(name) #name
#define BALEEN_SYMBOL_TEXT(name) BALEEN_SYMBOL_TEXT_(name)
/// A member that points to a function of the vendor's, under the function's own name.
#define BALEEN_DECLARE_SYMBOL(name) decltype(&::name) name = nullptr;
/// Fills such a member of `table` from `library`; adds the name to `missing` where there is none.
#define BALEEN_FIND_SYMBOL(name)                                                                 \
  table.name = reinterpret_cast<decltype(table.name)>(library.symbol(BALEEN_SYMBOL_TEXT(name))); \
  if (!table.name) missing += (missing.empty() ? "" : ", ") + std::string(BALEEN_SYMBOL_TEXT(name));
