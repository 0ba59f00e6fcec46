/// \file Addresses are written and read; local ones only where they mean something.
#include "addresses.hpp"

#include <gtest/gtest.h>

#include "baleen/file_handle.hpp"

namespace baleen::ucx {
namespace {

TEST(Addresses, ComeBackFromTheirText) {
  for (const char* text : {"10.0.0.1 4711", "127.0.0.1 1", "fd00::1 65535", "::1 80"}) {
    const auto address = address_from(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(text_of(*address), text);
    EXPECT_EQ(address->is_loopback, *text == '1' ? text[1] == '2' : *text == ':') << text;
    EXPECT_FALSE(address->is_local());
  }
  for (const char* text :
       {"", "10.0.0.1", "10.0.0 1", "10.0.0.1 x", "10.0.0.1 70000", "10.0.0.1 1 ", "local", "local "})
    EXPECT_FALSE(address_from(text)) << text;
}

TEST(Addresses, OfThisSystemLeadToTheSocketThatListens) {
  const FileHandle listener(socket(AF_UNIX, SOCK_STREAM, 0)), other(socket(AF_UNIX, SOCK_STREAM, 0));
  Address bound = any_local_address();
  ASSERT_EQ(bind(listener.get(), bound.get(), bound.size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  bound.size = sizeof bound.storage;
  ASSERT_EQ(getsockname(listener.get(), bound.get(), &bound.size), 0);
  const std::string text = text_of(bound);
  const auto address = address_from(text);
  ASSERT_TRUE(address) << text;
  EXPECT_TRUE(address->is_local());
  EXPECT_EQ(text_of(*address), text);
  EXPECT_EQ(connect(other.get(), address->get(), address->size), 0) << text;
}

TEST(Addresses, OfOtherSystemsAreNone) {
  Address named = *address_from(text_of([] {
    const FileHandle socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    Address bound = any_local_address();
    EXPECT_EQ(bind(socket.get(), bound.get(), bound.size), 0);
    bound.size = sizeof bound.storage;
    EXPECT_EQ(getsockname(socket.get(), bound.get(), &bound.size), 0);
    return bound;
  }()));
  std::string text = text_of(named);
  EXPECT_TRUE(address_from(text));
  text[std::string("local ").size()] ^= 1;  // another boot
  EXPECT_FALSE(address_from(text)) << text;
  text = text_of(named);
  text.erase(text.rfind(' ') + 1);
  EXPECT_FALSE(address_from(text)) << text;
  EXPECT_FALSE(address_from(text_of(named) + std::string(200, 'x')));
}

}  // namespace
}  // namespace baleen::ucx
