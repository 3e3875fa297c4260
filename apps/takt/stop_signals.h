// SIGTERM and SIGINT as a count that can be waited for. Process-wide by nature.
#pragma once

#include "base/clock.h"

namespace takt::app {

// From here on the two signals are counted instead of ending the process. While `loading` they still end it at once,
// with exit code 0: nothing has been promised to anybody yet. SIGHUP is ignored, and logged by wait_for_stop_signal: a
// terminal that closes, or a service manager that wants a reload, must not end what runs.
void catch_stop_signals();
void loading_is_done();

// Signals so far.
int stop_signals_received();

// Waits until more than `seen` signals have come; false after `wait`.
bool wait_for_stop_signal(int seen, Duration wait);

}  // namespace takt::app
