/// \file A transport as the core drives it, whatever it is made of: the C++ class of the SDK, and what it offers.
#pragma once
#include <string_view>

#include "baleen/transport.hpp"

namespace baleen {

/// Created already; the contracts stand in transport.h. Errors have their text.
class OpenTransport : public Transport {
 public:
  /// Whether it has memory of its own for arenas.
  virtual bool allocates() const = 0;
  /// Whether it gains by knowing memory of others.
  virtual bool registers() const = 0;
  /// Whether collectives also work in a device's memory of this kind, beside the host's.
  virtual bool takes(std::string_view memory) const = 0;
};

}  // namespace baleen
