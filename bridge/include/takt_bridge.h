/* Chat templates by minijinja, behind a C ABI.
 *
 * Ownership: what a function returns through an `out` or `error` pointer belongs to the caller, who gives it back to
 * the matching `_free`. Inputs are borrowed for the call. Texts are UTF-8 with a length, not NUL-terminated. A compiled
 * template is immutable: any number of threads may render it at once. No function aborts, exits or lets a panic
 * through; a panic becomes TAKT_BRIDGE_PANIC. */
#ifndef TAKT_BRIDGE_H
#define TAKT_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TAKT_BRIDGE_OK = 0,
  TAKT_BRIDGE_INPUT = 1,  /* template or context can't be read: syntax, JSON, UTF-8, types */
  TAKT_BRIDGE_RAISED = 2, /* the template refuses: the error text is its own words, by raise_exception */
  TAKT_BRIDGE_RENDER = 3, /* the engine fails while rendering, its own faults too */
  TAKT_BRIDGE_LIMIT = 4,  /* size, depth, fuel or time; the error text names the limit */
  TAKT_BRIDGE_PANIC = 5   /* a fault of the bridge */
} takt_bridge_status;

typedef struct {
  const char* data;
  size_t size;
} takt_bridge_view;

/* Owned by the caller once returned; {NULL, 0} when there is none. */
typedef struct {
  char* data;
  size_t size;
} takt_bridge_text;

typedef struct {
  size_t begin;
  size_t end;
} takt_bridge_range;

typedef struct {
  size_t template_bytes;
  size_t context_bytes;
  size_t output_bytes;
  /* Steps of a rendering, about one per instruction, per 64 bytes made and per 8 items visited: base + per_byte * bytes
   * of the context, at most `most`. */
  uint64_t fuel_base;
  uint64_t fuel_per_byte;
  uint64_t fuel_most;
} takt_bridge_limits;

typedef struct {
  uint8_t continue_final_message; /* end the prompt inside the last message */
  uint8_t alias_thinking;         /* messages' reasoning_content can be read as "thinking" too */
} takt_bridge_options;

typedef struct {
  takt_bridge_text text;
  takt_bridge_range* untrusted; /* byte ranges of `text`, in order, disjoint: no control token may overlap one */
  size_t untrusted_count;
} takt_bridge_prompt;

typedef struct takt_bridge_template takt_bridge_template;

/* `control_tokens`: spellings that the caller's strings must not turn into control tokens. On success *out is set, else
 * *error. */
takt_bridge_status takt_bridge_template_compile(takt_bridge_view source, const takt_bridge_view* control_tokens,
                                                size_t control_token_count, takt_bridge_limits limits,
                                                takt_bridge_template** out, takt_bridge_text* error);

/* `context`: a JSON object, nested at most 127 deep, key order kept. Its key "now" (a local time such as
 * 2026-01-15T12:00:00) is the clock of strftime_now and is not itself visible; without it strftime_now is undefined. On
 * success *out is set, else *error. */
takt_bridge_status takt_bridge_template_render(const takt_bridge_template* compiled, takt_bridge_view context,
                                               takt_bridge_options options, takt_bridge_prompt* out,
                                               takt_bridge_text* error);

/* All accept what is empty or NULL. */
void takt_bridge_template_free(takt_bridge_template* compiled);
void takt_bridge_prompt_free(takt_bridge_prompt prompt);
void takt_bridge_text_free(takt_bridge_text text);

#ifdef __cplusplus
}
#endif

#endif
