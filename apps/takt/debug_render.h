// `takt debug render`: a chat template as a filter of JSON lines, for people who check us.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace takt {

// One line out per line in. In: {"messages", "tools"?, "documents"?, "options"?, "now"?}; what is absent is null for
// the template, the members of options become variables of the template, and options.continue_final_message ends the
// prompt inside the last message. `now` is the clock of strftime_now. Out: {"output": text}, with "untrusted": [[begin,
// end], ...] where the caller's words spell (part of) one of `control_tokens`; or {"error": text}, which for
// raise_exception is the template's own words. Blank lines are passed over. Returns the process's exit code: 0, or 1
// when the template can't be compiled (one line, {"error": ...}) or the output can't be written.
int run_debug_render(std::string template_source, std::istream& in, std::ostream& out,
                     std::vector<std::string> control_tokens = {});

}  // namespace takt
