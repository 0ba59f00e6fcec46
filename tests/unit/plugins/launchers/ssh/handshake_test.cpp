/// \file Who proves what to whom, without sockets.
#include "ssh/handshake.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <random>

namespace baleen::launchers {
namespace {

const std::string kJob = "0123456789abcdef";

struct Sides {
  Secret first_secret = Secret::fresh(), other_secret = first_secret;
  Doorkeeper keeper{first_secret, kJob};
  Caller caller{other_secret, 3};
};

TEST(Handshake, GivesBothSidesTheSameKeys) {
  Sides sides;
  const auto join = sides.caller.join(sides.keeper.hello());
  ASSERT_TRUE(join);
  ASSERT_EQ(join->size(), kJoinBytes);
  const auto admission = sides.keeper.admit(*join);
  ASSERT_TRUE(admission);
  EXPECT_EQ(admission->host, 3);
  ASSERT_EQ(admission->answer.size(), kAnswerBytes);
  const auto keys = sides.caller.conclude(admission->answer);
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->from_first, admission->keys.from_first);
  EXPECT_EQ(keys->to_first, admission->keys.to_first);
  EXPECT_NE(keys->from_first, keys->to_first);
}

TEST(Handshake, MakesKeysForOneConnectionOnly) {
  const Secret secret = Secret::fresh();
  const Doorkeeper a(secret, kJob), b(secret, kJob);
  Caller x(secret, 1), y(secret, 1);
  EXPECT_NE(a.admit(*x.join(a.hello()))->keys.to_first, b.admit(*y.join(b.hello()))->keys.to_first);
}

TEST(Handshake, RefusesAnotherSecret) {
  Sides sides;
  sides.other_secret = Secret::fresh();
  EXPECT_FALSE(sides.keeper.admit(*sides.caller.join(sides.keeper.hello())));
  const auto keys = sides.caller.conclude(Doorkeeper::refusal());
  ASSERT_FALSE(keys);
  EXPECT_NE(keys.error().message.find("another secret"), std::string::npos);
}

TEST(Handshake, RefusesWhatWasRecorded) {
  const Secret secret = Secret::fresh();
  const Doorkeeper then(secret, kJob), now(secret, kJob), other_job(secret, "ffffffffffffffff");
  Caller caller(secret, 1);
  const std::string join = *caller.join(then.hello());
  ASSERT_TRUE(then.admit(join));
  EXPECT_FALSE(now.admit(join));
  EXPECT_FALSE(other_job.admit(join));
}

TEST(Handshake, RefusesAFirstHostWithoutTheSecret) {
  const Secret secret = Secret::fresh();
  const Doorkeeper real(secret, kJob);
  Caller then(secret, 1), now(secret, 1);
  const std::string recorded = real.admit(*then.join(real.hello()))->answer;
  ASSERT_TRUE(now.join(real.hello()));
  for (const std::string& answer : {recorded, "w" + std::string(kAnswerBytes - 1, '\0')}) {
    const auto keys = now.conclude(answer);
    ASSERT_FALSE(keys);
    EXPECT_NE(keys.error().message.find("does not know the job's secret"), std::string::npos);
  }
}

TEST(Handshake, RefusesItsOwnWordsThrownBack) {
  Sides sides;
  const std::string join = *sides.caller.join(sides.keeper.hello());
  EXPECT_FALSE(sides.caller.conclude("w" + join.substr(join.size() - sizeof(Digest))));
}

TEST(Handshake, RefusesEveryChangedByte) {
  Sides sides;
  const std::string hello = sides.keeper.hello(), join = *sides.caller.join(hello);
  const std::string answer = sides.keeper.admit(join)->answer;
  for (std::size_t i = 0; i < join.size(); ++i) {
    std::string changed = join;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(sides.keeper.admit(changed)) << i;
  }
  for (std::size_t i = 0; i < answer.size(); ++i) {
    std::string changed = answer;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(sides.caller.conclude(changed)) << i;
  }
  for (std::size_t i = 0; i < hello.size(); ++i) {
    std::string changed = hello;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    Caller caller(sides.other_secret, 3);
    const auto reply = caller.join(changed);
    EXPECT_TRUE(!reply || !sides.keeper.admit(*reply)) << i;
  }
}

TEST(Handshake, RefusesOtherSizesAndNoise) {
  Sides sides;
  const std::string join = *sides.caller.join(sides.keeper.hello());
  EXPECT_FALSE(sides.keeper.admit(""));
  EXPECT_FALSE(sides.keeper.admit(join.substr(1)));
  EXPECT_FALSE(sides.keeper.admit(join + "x"));
  EXPECT_FALSE(sides.caller.conclude(""));
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < 1000; ++i) {
    std::string noise(random() % 200, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    EXPECT_FALSE(sides.keeper.admit(noise));
    EXPECT_FALSE(job_of(noise));
    EXPECT_FALSE(sides.caller.conclude(noise));
  }
}

TEST(Handshake, NamesTheJobInItsHello) {
  const Secret secret = Secret::fresh();
  EXPECT_EQ(job_of(Doorkeeper(secret, kJob).hello()), kJob);
  EXPECT_FALSE(job_of("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u6\r\n"));
  EXPECT_EQ(fresh_job().size(), kJobBytes);
  EXPECT_NE(fresh_job(), fresh_job());
}

TEST(Handshake, KnowsGarbageByItsFirstBytes) {
  Sides sides;
  const std::string join = *sides.caller.join(sides.keeper.hello());
  for (std::size_t size = 0; size <= join.size(); ++size) EXPECT_TRUE(is_join_so_far(join.substr(0, size))) << size;
  EXPECT_FALSE(is_join_so_far("G"));
  EXPECT_FALSE(is_join_so_far(std::string(8, '\xff')));
}

}  // namespace
}  // namespace baleen::launchers
