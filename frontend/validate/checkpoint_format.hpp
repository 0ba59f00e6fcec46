/// \file A checkpoint format in the hands of a case: tensors to write, and what comes back.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "baleen/checkpoint.h"
#include "frontend/validate/subject.hpp"

namespace baleen::validate {

struct NamedBytes {
  std::string name;
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<std::int64_t> shape;
  std::string bytes;

  bool operator==(const NamedBytes&) const = default;
};
using Facts = std::map<std::string, std::string>;

/// Bytes of any value, also of NaN patterns; they cannot be written shorter.
NamedBytes tensor_of(std::string name, baleen_dtype_t dtype, std::vector<std::int64_t> shape);
/// Small ones of every dtype that a parameter or a state has, and of strange names and shapes.
std::vector<NamedBytes> many_tensors();
/// The same, one of more than a million bytes and extents beyond 255, and several hundred.
std::vector<NamedBytes> all_tensors();

/// Tensors and facts as the table takes them; they borrow.
struct Told {
  Told(const std::vector<NamedBytes>& given, const Facts& facts, bool with_data);
  std::vector<baleen_named_tensor_t> tensors;
  std::vector<baleen_string_t> pairs;
};

/// A format, and a file in the case's folder.
struct Format {
  Format(const Subject& subject, Mark& mark);

  baleen_status_t try_write(const std::string& to, const std::vector<NamedBytes>& tensors, const Facts& facts = {});
  void write(const std::vector<NamedBytes>& tensors, const Facts& facts = {});
  /// Of a tensor after the other, in the order of the list. Nothing where the file is refused; its reason goes to
  /// `why`.
  bool read(const std::string& from, std::map<std::string, NamedBytes>& found, Facts& facts, std::string& why);
  std::map<std::string, NamedBytes> must_read(Facts* facts = nullptr);

  Opened plugin;
  const baleen_checkpoint_t& table;
  std::string path;
};

}  // namespace baleen::validate
