// Fields that other servers know and Takt does not offer. Internal to this folder.
#pragma once

#include "api/json_fields.h"

namespace takt::api {

// A value that asks for nothing is accepted (`tools: []`, `response_format: {"type": "text"}`); one that would change
// the answer is a fault of kind kUnsupported, since swallowing it would be a lie. Fields that cannot change the answer
// (metadata, store, ...) are accepted whatever they hold.
void refuse_unsupported(FieldReader& fields);

}  // namespace takt::api
