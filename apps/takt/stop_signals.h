// SIGTERM and SIGINT as a count that can be waited for. Process-wide by nature.
#pragma once

#include "base/clock.h"

namespace takt::app {

// From here on the two signals are counted instead of ending the process. While `loading` they still end it at once,
// with exit code 0: nothing has been promised to anybody yet. SIGHUP is counted too, and ends nothing: it asks for the
// configuration to be read again.
void catch_stop_signals();
void loading_is_done();

// Signals so far.
int stop_signals_received();

// Waits until more than `seen` stop signals have come; false after `wait`, or when a SIGHUP has come.
bool wait_for_signal(int seen, Duration wait);
// Whether a SIGHUP has come since the last call.
bool take_hangup();

}  // namespace takt::app
