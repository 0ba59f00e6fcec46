/// \file Root reads every file; for the life of this object a test that runs as root is an ordinary user.
#pragma once
#include <unistd.h>

namespace baleen::test {

class OrdinaryUser {
 public:
  OrdinaryUser() : was_root_(::geteuid() == 0) {
    constexpr uid_t kNobody = 65534;
    if (was_root_ && ::seteuid(kNobody) != 0) possible_ = false;
  }
  ~OrdinaryUser() {
    if (was_root_ && possible_) possible_ = ::seteuid(0) == 0;
  }
  OrdinaryUser(const OrdinaryUser&) = delete;

  /// False where the system does not let root step down (a restricted container): skip then.
  bool possible() const { return possible_; }

 private:
  bool was_root_;
  bool possible_ = true;
};

}  // namespace baleen::test
