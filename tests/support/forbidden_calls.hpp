/// \file Calls of the system that fail, as in containers that forbid them.
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace baleen::test {

/// From now on these calls (SYS_...) fail for this thread and what it starts. False where the system takes no filter of
/// calls.
inline bool forbid_calls(std::initializer_list<long> calls, unsigned reason = EPERM) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | reason));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Reading and writing the memory of other processes.
inline bool forbid_cma() { return forbid_calls({SYS_process_vm_readv, SYS_process_vm_writev}); }

inline bool forbid_io_uring() { return forbid_calls({SYS_io_uring_setup}); }

}  // namespace baleen::test
