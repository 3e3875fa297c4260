// The two ways to talk: a person at a terminal, or a script that pipes messages in.
#pragma once

#include <string>

#include "chat_client.h"
#include "exit_code.h"

namespace takt::app {

// Reads messages from standard input, one a line (a backslash at its end joins the next one), and writes the answers to
// standard output as they come, made harmless for a terminal. Lines that are /reset, /help or /exit are commands.
//
// Where input and output are terminals: a prompt, figures after each answer, Ctrl-C stops the answer only, an error is
// shown and the conversation goes on; kDone at its end. Elsewhere: the answers alone on standard output, figures on
// standard error, and the first failure ends it, since what follows would build on an answer that is not there:
// kAddress (no server), kFault (no complete answer, or input that cannot be read), kFile (output that cannot be
// written).
// `system`: a system message, or empty.
ExitCode converse(const ServerAddress& server, const AnswerSettings& settings, const std::string& system);

}  // namespace takt::app
