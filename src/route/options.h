// Who may call the server, and as whom.
#pragma once

#include <string>
#include <vector>

namespace takt::route {

struct ApiKey {
  std::string key;              // 8 to 512 printable ASCII characters without spaces
  std::string tenant{};         // whose work it is, for fairness and cache scope; empty: "default"
  std::string application{};    // which tool calls; may be empty
  std::string service_class{};  // of requests that name none; empty: chat
  bool batch_only = false;      // may not ask for the realtime tier
  bool admin = false;           // may use /admin/*
};

// Without keys every caller is let in: whether that is allowed on the listening address is the command line's question.
struct RouteOptions {
  std::vector<ApiKey> keys;
};

}  // namespace takt::route
