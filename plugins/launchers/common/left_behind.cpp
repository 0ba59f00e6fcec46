/// \file Looks through all segments of the system (shmctl(2), SHM_STAT).
#include "common/left_behind.hpp"

#include <sys/shm.h>

namespace baleen::launchers {

void remove_shared_memory_of(pid_t creator, std::time_t begin) {
  shm_info all{};
  const int last = shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&all));
  for (int index = 0; index <= last; ++index) {
    shmid_ds segment{};
    const int id = shmctl(index, SHM_STAT, &segment);
    if (id < 0 || segment.shm_cpid != creator || segment.shm_nattch > 0) continue;
    if (segment.shm_perm.__key == IPC_PRIVATE && segment.shm_ctime >= begin) shmctl(id, IPC_RMID, nullptr);
  }
}

}  // namespace baleen::launchers
