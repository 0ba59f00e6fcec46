/// \file A strategy that throws where it can return no status.
#include <stdexcept>

#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR("strategy", "claims_throws", "1.0.0", "Apache-2.0", "Bad on purpose", 0, "", BALEEN_NO_OPTIONS);

namespace {

using namespace baleen;
using namespace baleen::sdk;

class ClaimsThrows : public Strategy {
 public:
  static Result<std::unique_ptr<ClaimsThrows>> create(const Host&, const Settings&, MeshView) {
    return std::make_unique<ClaimsThrows>();
  }
  bool claims(std::uint32_t) const override { throw std::runtime_error("nobody knows the axis"); }
};

}  // namespace

BALEEN_STRATEGY(ClaimsThrows);
