/// \file Versions, and the real NCCL where this machine has it: it is loaded, and asked what works without a GPU.
#include "library.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace baleen::nccl {
namespace {

TEST(NcclLibrary, TellsVersions) {
  EXPECT_EQ(version_text(22809), "2.28.9");
  EXPECT_EQ(version_text(21800), "2.18.0");
  EXPECT_EQ(version_text(2804), "2.8.4") << "before 2.9 there was a digit less";
}

TEST(NcclLibrary, OfNvidiaIsLoadedAndMakesIds) {
  auto opened = open_nccl("libnccl.so.2");
  if (!opened && opened.error().code == BALEEN_NOT_FOUND) GTEST_SKIP() << opened.error().message;
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_EQ(opened->label, nullptr) << "this is the double";
  EXPECT_GE(opened->version, kOldestVersion);
  std::printf("NCCL %s\n", version_text(opened->version).c_str());
  EXPECT_STREQ(opened->ncclGetErrorString(kInProgress), "NCCL operation in progress");
#ifndef __SANITIZE_ADDRESS__  // NCCL keeps what it allocates
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  UniqueId one{}, other{};
  ASSERT_EQ(opened->ncclGetUniqueId(&one), kSuccess);
  ASSERT_EQ(opened->ncclGetUniqueId(&other), kSuccess);
  EXPECT_NE(std::memcmp(&one, &other, sizeof one), 0);
  EXPECT_EQ(opened->ncclGroupStart(), kSuccess);
  EXPECT_EQ(opened->ncclGroupEnd(), kSuccess);
#endif
}

}  // namespace
}  // namespace baleen::nccl
