/// \file The descriptor of the plugin `shm`.
#include "transport.hpp"

BALEEN_DESCRIPTOR("transport", "shm", "1.0.0", "Apache-2.0", "shared memory between the ranks of one host", 10, "",
                  BALEEN_NO_OPTIONS);

BALEEN_TRANSPORT(baleen::shm::SharedMemoryTransport);
