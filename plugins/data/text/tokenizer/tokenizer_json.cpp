/// \file Reads tokenizer.json, every key of it.
#include "pipeline.hpp"

namespace baleen::text {
namespace {

/// Ids that stand before and after a text.
struct Frame {
  std::vector<std::uint32_t> before, after;
};

/// A pair ["[SEP]", 102].
Result<std::uint32_t> read_pair(JsonObject& object, std::string_view key) {
  BALEEN_TRY_ASSIGN(const Json* pair, object.at(key, Json::Kind::array));
  if (pair->items.size() != 2 || pair->items[0].kind != Json::Kind::string || !pair->items[1].is_integer ||
      pair->items[1].integer < 0 || pair->items[1].integer >= 1 << 30)
    return invalid("must be a pair of a token and its id", object.where(key));
  return static_cast<std::uint32_t>(pair->items[1].integer);
}

/// The ids of an entry of `special_tokens`.
Result<std::vector<std::uint32_t>> read_special(const Json& json, const std::string& where) {
  BALEEN_TRY_ASSIGN(JsonObject object, JsonObject::of(json, where));
  BALEEN_TRY(object.text("id"));
  BALEEN_TRY_ASSIGN(const Json* list, object.at("ids", Json::Kind::array));
  BALEEN_TRY(object.at("tokens", Json::Kind::array));
  std::vector<std::uint32_t> ids;
  for (const Json& id : list->items) {
    if (!id.is_integer || id.integer < 0 || id.integer >= 1 << 30) return invalid("has a bad id", object.where("ids"));
    ids.push_back(static_cast<std::uint32_t>(id.integer));
  }
  BALEEN_TRY(object.finish());
  return ids;
}

/// One entry of a template: { "SpecialToken": … } or { "Sequence": … }.
Status read_template_item(const Json& json, const Json& specials, const std::string& where, bool& seen, Frame& frame) {
  BALEEN_TRY_ASSIGN(JsonObject object, JsonObject::of(json, where));
  const bool is_text = object.find("Sequence") != nullptr;
  const char* const key = is_text ? "Sequence" : "SpecialToken";
  BALEEN_TRY_ASSIGN(const Json* inner, object.at(key, Json::Kind::object));
  BALEEN_TRY(object.finish());
  BALEEN_TRY_ASSIGN(JsonObject item, JsonObject::of(*inner, object.where(key)));
  BALEEN_TRY_ASSIGN(const std::string id, item.text("id"));
  BALEEN_TRY(item.integer_or("type_id", 0, 1 << 16, 0));
  BALEEN_TRY(item.finish());
  if (is_text) {
    if (id != "A" || seen) return unsupported("has more than the text A, once", where);
    seen = true;
    return {};
  }
  for (const auto& [name, special] : specials.members) {
    if (name != id) continue;
    BALEEN_TRY_ASSIGN(const auto ids, read_special(special, where + ".special_tokens"));
    std::vector<std::uint32_t>& side = seen ? frame.after : frame.before;
    side.insert(side.end(), ids.begin(), ids.end());
    return {};
  }
  return invalid("names the special token `" + id.substr(0, 80) + "`, which `special_tokens` lacks", where);
}

Status read_template(JsonObject& object, Frame& frame) {
  BALEEN_TRY_ASSIGN(const Json* single, object.at("single", Json::Kind::array));
  object.pass_over("pair");  // of two texts at once, which rows of a stream are not
  BALEEN_TRY_ASSIGN(const Json* specials, object.at("special_tokens", Json::Kind::object));
  bool seen = false;
  for (const Json& item : single->items) BALEEN_TRY(read_template_item(item, *specials, object.where(), seen, frame));
  return seen ? Status() : invalid("`single` has no text", object.where());
}

Status read_post_processor(const Json& json, const std::string& where, Frame& frame) {
  BALEEN_TRY_ASSIGN(JsonObject object, JsonObject::of(json, where));
  BALEEN_TRY_ASSIGN(const std::string type, object.text("type"));
  if (type == "ByteLevel") {  // it changes places in the text alone
    for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"}) BALEEN_TRY(object.boolean_or(key, true));
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    BALEEN_TRY_ASSIGN(const std::uint32_t last, read_pair(object, "sep"));
    BALEEN_TRY_ASSIGN(const std::uint32_t first, read_pair(object, "cls"));
    for (const char* key : {"add_prefix_space", "trim_offsets"}) BALEEN_TRY(object.boolean_or(key, true));
    frame.before.push_back(first);
    frame.after.push_back(last);
  } else if (type == "TemplateProcessing") {
    BALEEN_TRY(read_template(object, frame));
  } else if (type == "Sequence") {
    BALEEN_TRY_ASSIGN(const Json* list, object.at("processors", Json::Kind::array));
    for (const Json& item : list->items) {
      Frame outer;
      BALEEN_TRY(read_post_processor(item, where, outer));
      frame.before.insert(frame.before.begin(), outer.before.begin(), outer.before.end());
      frame.after.insert(frame.after.end(), outer.after.begin(), outer.after.end());
    }
  } else {
    return unsupported("the post-processor `" + type.substr(0, 80) + "` is not supported; known are BertProcessing, " +
                           "ByteLevel, RobertaProcessing, Sequence and TemplateProcessing",
                       where);
  }
  return object.finish();
}

Result<std::unique_ptr<Model>> read_model(JsonObject& object) {
  const bool is_bpe = object.find("merges") != nullptr;  // files of earlier versions name no type
  BALEEN_TRY_ASSIGN(const std::string type, object.text_or("type", is_bpe ? "BPE" : "WordPiece"));
  std::unique_ptr<Model> model;
  if (type == "BPE") {
    BALEEN_TRY_ASSIGN(model, read_bpe(object));
  } else if (type == "WordPiece") {
    BALEEN_TRY_ASSIGN(model, read_wordpiece(object));
  } else {
    return unsupported("the model `" + type.substr(0, 80) +
                           "` is not supported in a tokenizer.json; known are BPE and " +
                           "WordPiece. Where SentencePiece made it, give its file (`spiece.model`, `tokenizer.model`)",
                       object.where("type"));
  }
  BALEEN_TRY(object.finish());
  return model;
}

/// Keys about batches, not ids.
Status read_batching(JsonObject& object, std::vector<std::string>& notes) {
  for (const char* key : {"truncation", "padding"}) {
    const Json* found = object.find(key);
    if (!found) continue;
    if (found->kind != Json::Kind::object) return invalid("must be an object or null", object.where(key));
    notes.push_back("the tokenizer's `" + std::string(key) +
                    "` is not applied: rows have `context` tokens of the stream");
  }
  return {};
}

Status check_frame(const Frame& frame, const Pipeline::Parts& parts, const std::string& where) {
  for (const auto* side : {&frame.before, &frame.after})
    for (const std::uint32_t id : *side)
      if (!parts.added.find(id) && !parts.model->vocabulary().token(id))
        return invalid("has the id " + std::to_string(id) + ", which no token has", where);
  return {};
}

}  // namespace

TokenizerResult read_tokenizer_json(std::string_view text, const std::string& where) {
  BALEEN_TRY_ASSIGN(const Json json, parse_json(text, where));
  BALEEN_TRY_ASSIGN(JsonObject object, JsonObject::of(json, where));
  const Json nothing;
  const auto part = [&](const char* key) -> const Json& {
    const Json* found = object.find(key);
    return found ? *found : nothing;
  };
  if (const std::string version = part("version").text; version != "1.0")
    return unsupported("is `" + version.substr(0, 20) + "`; known is `1.0`", object.where("version"));
  Pipeline::Parts parts;
  BALEEN_TRY(read_batching(object, parts.notes));
  BALEEN_TRY_ASSIGN(const Json* model, object.at("model", Json::Kind::object));
  BALEEN_TRY_ASSIGN(JsonObject model_object, JsonObject::of(*model, object.where("model")));
  BALEEN_TRY_ASSIGN(parts.model, read_model(model_object));
  BALEEN_TRY_ASSIGN(parts.normalizers, read_normalizer(part("normalizer"), object.where("normalizer")));
  BALEEN_TRY_ASSIGN(parts.pre_tokenizers, read_pre_tokenizer(part("pre_tokenizer"), object.where("pre_tokenizer")));
  BALEEN_TRY_ASSIGN(parts.decoders, read_decoder(part("decoder"), object.where("decoder")));
  if (const Json& added = part("added_tokens"); added.kind == Json::Kind::array) {
    BALEEN_TRY_ASSIGN(parts.added, AddedTokens::read(added, parts.model->vocabulary(), object.where("added_tokens")));
  } else if (added.kind != Json::Kind::null) {
    return invalid(std::string("is ") + kind_name(added.kind) + "; it must be an array", object.where("added_tokens"));
  }
  Frame frame;
  if (const Json& post = part("post_processor"); post.kind != Json::Kind::null)
    BALEEN_TRY(read_post_processor(post, object.where("post_processor"), frame));
  BALEEN_TRY(check_frame(frame, parts, object.where("post_processor")));
  BALEEN_TRY(object.finish());
  parts.before = std::move(frame.before);
  parts.after = std::move(frame.after);
  return Pipeline::make(std::move(parts));
}

}  // namespace baleen::text
