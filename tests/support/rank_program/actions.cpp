/// \file The verbs.
#include "actions.hpp"

#include <sched.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <thread>

#include "baleen/launcher.h"

namespace baleen::test {
namespace {

using Milliseconds = std::chrono::milliseconds;

int number(const std::string& text, int otherwise = -1) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void say(const std::string& text, std::FILE* to = stdout) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

/// As the system does it, whatever a sanitizer would make of it.
void raise_plainly(const std::string& signal) {
  std::signal(number(signal), SIG_DFL);
  kill(getpid(), number(signal));
}

Status lines(RankChannel& link, const std::string& count) {
  for (int i = 0; i < number(count); ++i) {
    say("line " + std::to_string(i));
    say(" of rank " + std::to_string(link.place().rank) + "\n");
  }
  return {};
}

/// Writes that many MiB to nowhere.
void pass(const std::string& mebibytes) {
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < number(mebibytes); ++i) std::fwrite(piece.data(), 1, piece.size(), nowhere);
  std::fclose(nowhere);
}

Status show_place(RankChannel& link, const std::string&) {
  const launchers::Place& place = link.place();
  say("rank " + std::to_string(place.rank) + " of " + std::to_string(place.ranks) + ", " +
      std::to_string(place.local_rank) + " of " + std::to_string(place.local_ranks) + " on " + place.host + ", " +
      std::to_string(place.threads) + " threads\n");
  return {};
}

Status show_hosts(RankChannel& link, const std::string&) {
  std::string text = "host " + std::to_string(link.place().host_index) + "; ranks on";
  for (const int host : link.place().host_of_rank) text += ' ' + std::to_string(host);
  say(text + '\n');
  return {};
}

Status show_cpus(RankChannel&, const std::string&) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::string text = "cpus";
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) text += ' ' + std::to_string(cpu);
  say(text + '\n');
  return {};
}

Status show_terminal(RankChannel&, const std::string&) {
  say(std::string(isatty(STDOUT_FILENO) ? "a terminal" : "no terminal") + '\n');
  return {};
}

Status read_line(RankChannel&, const std::string&) {
  std::string line;
  say(std::getline(std::cin, line) ? "read: " + line + '\n' : "nothing to read\n");
  return {};
}

Status put(RankChannel& link, const std::string& pair) {
  const std::size_t equals = pair.find('=');
  return link.put(pair.substr(0, equals), pair.substr(equals + 1));
}

Status get(RankChannel& link, const std::string& key) {
  BALEEN_TRY_ASSIGN(const std::string value, link.get(key));
  say(key + " is " + value + '\n');
  return {};
}

Status nap(RankChannel& link, const std::string&) {
  while (link.state()) std::this_thread::sleep_for(Milliseconds(1));
  return link.state();
}

Status work(RankChannel& link, const std::string& milliseconds) {
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t step = 1;; ++step) {
    link.at(step, "working");
    BALEEN_TRY(link.barrier("step"));
    // Every rank must come to the same end, so rank 0's clock decides.
    const std::string key = "over " + std::to_string(step);
    const bool over =
        !milliseconds.empty() && std::chrono::steady_clock::now() - start >= Milliseconds(number(milliseconds));
    if (link.place().rank == 0) BALEEN_TRY(link.put(key, over ? "yes" : "no"));
    BALEEN_TRY_ASSIGN(const std::string answer, link.get(key));
    if (answer == "yes") return {};
  }
}

std::atomic<int> arrived{0};

Status count_signals(RankChannel&, const std::string& signal) {
  std::signal(number(signal), [](int) { ++arrived; });
  say("counting\n");
  while (arrived == 0) std::this_thread::sleep_for(Milliseconds(1));
  std::this_thread::sleep_for(Milliseconds(300));
  say("counted " + std::to_string(arrived) + '\n');
  return {};
}

Status hold_outputs(RankChannel&, const std::string&) {
  if (fork() == 0) {
    sleep(20);
    _exit(0);
  }
  return {};
}

Status close_channel(RankChannel&, const std::string&) {
  for (int descriptor = 3; descriptor < 256; ++descriptor) shutdown(descriptor, SHUT_RDWR);
  return {};
}

void wait_for_file(const std::string& path) {
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(Milliseconds(1));
}

/// As a library that is killed before it has marked it for removal.
void make_segment(const std::string&) {
  const int id = shmget(IPC_PRIVATE, 12288, 0600);
  say("segment " + std::to_string(id) + '\n');
}

using Verb = std::function<Status(RankChannel&, const std::string&)>;

template <class Call>
Verb simply(Call call) {
  return [call](RankChannel&, const std::string& argument) -> Status { return call(argument), Status(); };
}

const std::map<std::string, Verb>& verbs() {
  static const std::map<std::string, Verb> all = {
      {"print", simply([](const std::string& text) { say(text + '\n'); })},
      {"error", simply([](const std::string& text) { say(text + '\n', stderr); })},
      {"half", simply([](const std::string& text) { say(text); })},
      {"pid", simply([](const std::string&) { say("pid " + std::to_string(getpid()) + '\n'); })},
      {"sleep", simply([](const std::string& time) { std::this_thread::sleep_for(Milliseconds(number(time))); })},
      {"passes", simply(pass)},
      {"until", simply(wait_for_file)},
      {"segment", simply(make_segment)},
      {"raise", simply(raise_plainly)},
      {"exit", simply([](const std::string& code) { _exit(number(code)); })},
      {"lines", lines},
      {"place", show_place},
      {"hosts", show_hosts},
      {"cpus", show_cpus},
      {"tty", show_terminal},
      {"read", read_line},
      {"barrier", [](RankChannel& link, const std::string& name) { return link.barrier(name); }},
      {"put", put},
      {"get", get},
      {"stop_at_exit", simply([](const std::string&) { std::atexit([] { std::raise(SIGSTOP); }); })},
      {"naps", nap},
      {"work", work},
      {"at", [](RankChannel& link, const std::string& step) { return link.at(number(step), "backward"), Status(); }},
      {"rescues", [](RankChannel& link, const std::string&) { return link.at(1, BALEEN_PHASE_RESCUING), Status(); }},
      {"begins",
       [](RankChannel& link, const std::string& collective) { return link.begins(number(collective)), Status(); }},
      {"count", count_signals},
      {"fail", [](RankChannel&, const std::string& text) -> Status { return invalid(text, "script.lua:3:5"); }},
      {"bug", [](RankChannel&, const std::string& text) -> Status { return internal(text); }},
      {"lost",
       [](RankChannel&, const std::string&) -> Status {
         return Error{BALEEN_PEER_LOST, "a peer is lost", {}};
       }},
      {"hold", hold_outputs},
      {"close", close_channel},
  };
  return all;
}

}  // namespace

Status perform(RankChannel& link, std::span<const std::string> words) {
  for (const std::string& word : words) {
    const std::size_t who_end = word.find(':');
    const std::string who = word.substr(0, who_end);
    if (who != "*" && number(who) != link.place().rank) continue;
    const std::string rest = word.substr(who_end + 1);
    const std::size_t verb_end = rest.find(':');
    const auto verb = verbs().find(rest.substr(0, verb_end));
    if (verb == verbs().end()) return invalid("no such verb: " + word);
    BALEEN_TRY(verb->second(link, verb_end == std::string::npos ? "" : rest.substr(verb_end + 1)));
  }
  return {};
}

}  // namespace baleen::test
