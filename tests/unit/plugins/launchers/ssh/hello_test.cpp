/// \file What the first host says in clear, and what others make of it.
#include "ssh/hello.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/seed.hpp"

namespace baleen::launchers {
namespace {

const std::string kNamed = "0123456789abcdef";

TEST(Hello, NamesTheJob) {
  const std::string hello = hello_of(kNamed);
  EXPECT_EQ(hello.size(), kHelloBytes);
  ASSERT_TRUE(job_of(hello));
  EXPECT_EQ(*job_of(hello), kNamed);
}

TEST(Hello, IsOfAnotherJobEachTime) {
  EXPECT_EQ(fresh_job().size(), kNamed.size());
  EXPECT_NE(fresh_job(), fresh_job());
  EXPECT_TRUE(job_of(hello_of(fresh_job())));
}

TEST(Hello, OfAnotherVersionSaysWhichItIs) {
  const std::string old = "baleen hosts 1\r\n" + kNamed + std::string(32, '\xa5');  // what version 1 said: then a nonce
  ASSERT_EQ(old.size(), kHelloBytes);
  const auto job = job_of(old);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().message,
            "it speaks version 1 of the protocol between hosts, and this host version 2; install the same Baleen on "
            "every host");
  // An older host takes no more than its own first line for a hello, and says that this is none.
  EXPECT_FALSE(hello_of(kNamed).starts_with(old.substr(0, 16)));
}

TEST(Hello, IsNothingElse) {
  const std::string hello = hello_of(kNamed);
  std::vector<std::string> others = {"",
                                     hello.substr(1),
                                     hello + "x",
                                     hello.substr(0, 40),
                                     "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u6\r\n",
                                     hello_of("0123456789abcdeX"),
                                     "baleen hosts \r\n",
                                     "baleen hosts 99999\r\n" + hello};
  for (std::size_t i = 32; i < hello.size(); ++i) {
    std::string changed = hello;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    others.push_back(changed);
  }
  for (const std::string& other : others) {
    const auto job = job_of(other);
    ASSERT_FALSE(job) << other;
    EXPECT_EQ(job.error().message, "what answers there is no Baleen") << other;
  }
}

TEST(Hello, SaysWhoAHostIs) {
  for (const int host : {0, 3, 1 << 30}) EXPECT_EQ(host_from(identity_of(host)), host);
  for (const char* other : {"", "baleen host ", "baleen host -1", "baleen host 3 ", "baleen host 1073741825", "host 3"})
    EXPECT_FALSE(host_from(other)) << other;
}

TEST(Hello, SurvivesNoise) {
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < 1000; ++i) {
    std::string noise(random() % 100, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    EXPECT_FALSE(job_of(noise));
    EXPECT_FALSE(job_of(("baleen hosts " + noise).substr(0, kHelloBytes)));
  }
}

}  // namespace
}  // namespace baleen::launchers
