/// \file Standard output as this program prints to it: C's streams do not keep why they have not taken something.
#pragma once
#include <string_view>

namespace baleen {

/// As std::printf. [any thread]
[[gnu::format(printf, 1, 2)]] void print_out(const char* format, ...);
/// Prints the text as it is. [any thread]
void print_text(std::string_view text);
/// Passes on what the stream holds back; false where it did not take that. [any thread]
bool flush_printed();
/// The errno of the first of these prints that was not taken; 0: of none. [any thread]
int print_failure();

}  // namespace baleen
