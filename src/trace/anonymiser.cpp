#include "trace/anonymiser.h"

#include <utility>

namespace takt::trace {

Result<Anonymiser> Anonymiser::create() {
  const auto secret = fresh_hash_secret();
  if (!secret) return secret.error();
  auto hash = KeyedHash::create(*secret);
  if (!hash) return hash.error();
  return Anonymiser(std::move(*hash));
}

Origin Anonymiser::origin(const Origin& origin) const {
  Origin anonymous;
  anonymous.format = Format::kTakt;
  anonymous.file = origin.file;
  anonymous.has_arrivals = origin.has_arrivals;
  return anonymous;
}

std::uint64_t Anonymiser::hash_number(std::uint64_t number) {
  return hash_.of({reinterpret_cast<const char*>(&number), sizeof number});
}

void Anonymiser::apply(Record& record) {
  for (std::string* name :
       {&record.application, &record.tenant, &record.user, &record.task, &record.model, &record.session})
    *name = hash_.name(*name);
  if (record.request != 0) record.request = hash_number(record.request);
  if (record.parent) record.parent = hash_number(*record.parent);
  for (std::uint64_t& hash : record.blocks.hashes) hash = hash_number(hash);
  record.wall_nanoseconds.reset();
  record.prompt_text.reset();
  record.answer_text.reset();
}

}  // namespace takt::trace
