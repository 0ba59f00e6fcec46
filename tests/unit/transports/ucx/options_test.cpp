/// \file Lists of UCX's transports, with and without reads of other processes' memory.
#include "options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace baleen::ucx {
namespace {

Options with(const std::string& tls) {
  Options options;
  options.tls = tls;
  return options;
}

TEST(UcxOptions, KnowWhetherCmaMayBeUsed) {
  for (const char* tls : {"", "cma", "posix,cma", "shm", "sm,tcp", "all", "^tcp"})
    EXPECT_TRUE(with(tls).allows_cma()) << tls;
  for (const char* tls : {"tcp", "posix", "posix,sysv", "^cma", "^tcp,cma"})
    EXPECT_FALSE(with(tls).allows_cma()) << tls;
}

TEST(UcxOptions, LeavePosixOutWhereNothingIsSaid) {
  const char* const before = std::getenv("UCX_TLS");
  const std::string kept = before ? before : "";
  unsetenv("UCX_TLS");
  EXPECT_EQ(with("").usable_tls(), "^posix");
  EXPECT_EQ(with("posix,tcp").usable_tls(), "posix,tcp");
  setenv("UCX_TLS", "all", 1);
  EXPECT_EQ(with("").usable_tls(), "") << "the environment's";
  before ? setenv("UCX_TLS", kept.c_str(), 1) : unsetenv("UCX_TLS");
}

TEST(UcxOptions, DoWithoutCma) {
  EXPECT_EQ(with("").tls_without_cma(), "^cma,posix");
  EXPECT_EQ(with("all").tls_without_cma(), "^cma");
  EXPECT_EQ(with("^tcp").tls_without_cma(), "^tcp,cma");
  EXPECT_EQ(with("tcp,cma,posix").tls_without_cma(), "tcp,posix");
  EXPECT_EQ(with("sm,tcp").tls_without_cma(), "posix,sysv,tcp");
  EXPECT_EQ(with("cma").tls_without_cma(), "");
}

TEST(UcxOptions, FingerprintsTellDifferentRanksApart) {
  Options a, b;
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  b.integrity = true;
  EXPECT_NE(a.fingerprint(), b.fingerprint());
  b = {};
  b.segment = 4096;
  EXPECT_NE(a.fingerprint(), b.fingerprint());
  b = {};
  b.encrypt = true;
  EXPECT_NE(a.fingerprint(), b.fingerprint());
}

}  // namespace
}  // namespace baleen::ucx
