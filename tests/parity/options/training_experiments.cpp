/// \file Options of optimizers and of data sets: losses, or what is refused.
#include "parity/options/experiment.hpp"

namespace baleen::test::options {
namespace {

/// Thirty rows of two numbers and a class, as a literal.
std::string some_rows(int factor) {
  std::string text;
  for (int i = 0; i < 30; ++i)
    text += (i ? ", [" : "[") + std::to_string(i * factor % 11) + ", " + std::to_string(i * 5 % 7) + ", " +
            std::to_string(i % 2) + "]";
  return "[" + text + "]";
}

std::string file(const std::string& name, const std::string& contents) { return text(files().write(name, contents)); }

/// The losses of a job on rows, for an optimizer.
Trial of_optimizer(std::vector<std::string> values, Options around = {}) {
  Job job;
  job.data_options = {{"rows", some_rows(7)}};
  return {job, numbers, std::move(values), std::move(around)};
}

Trial of_text(Options around, std::vector<std::string> values = {}) {
  Job job;
  job.data = "text";
  if (!around.contains("context")) around["context"] = "8";
  if (!around.contains("path")) around["path"] = text(source_dir() + "/tests/golden/whales.txt");
  return {job, numbers, std::move(values), std::move(around)};
}

Trial of_table(Options around, std::vector<std::string> values = {}) {
  return {{}, numbers, std::move(values), std::move(around)};
}

Trial of_synthetic(Options around, std::vector<std::string> values = {}) {
  Job job;
  job.data = "synthetic";
  around.insert({{"rows", "40"}, {"held_out", "8"}});
  if (!around.contains("context") && !around.contains("fields")) around.insert({{"features", "2"}, {"classes", "3"}});
  return {job, numbers, std::move(values), std::move(around)};
}

/// Little-endian words.
template <class Word>
std::string words(const std::vector<Word>& all) {
  return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(Word)};
}

/// 200 token ids below 60.
std::vector<std::uint16_t> token_ids() {
  std::vector<std::uint16_t> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(static_cast<std::uint16_t>(i * i % 59));
  return ids;
}

/// As llm.c writes them: a header of 256 words, then 16-bit ids.
std::string llmc_file() {
  std::vector<std::int32_t> header(256, 0);
  header[0] = 20240520, header[1] = 1, header[2] = 200;
  return words(header) + words(token_ids());
}

/// A tokenizer's file: the bytes of GPT-2's alphabet, no merges, and a token that ends a document.
std::string byte_tokenizer() {
  std::string vocab;
  int id = 0, beyond = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const bool shown = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    const int point = shown ? byte : 256 + beyond++;
    std::string letter;
    if (point < 0x80)
      letter = point == '"' || point == '\\' ? std::string("\\") + static_cast<char>(point)
                                             : std::string(1, static_cast<char>(point));
    else
      letter = {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 0x3F))};
    vocab += (vocab.empty() ? "\"" : ",\"") + letter + "\":" + std::to_string(id++);
  }
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":256,"content":"<|end|>",)"
         R"("single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],"normalizer":null,)"
         R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},)"
         R"("post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,)"
         R"("use_regex":true},"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,)"
         R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{)" +
         vocab + R"(},"merges":[]}})";
}

/// Objects of two texts each, forty of them.
std::string json_lines(const std::string& prose) {
  std::string lines;
  for (std::size_t i = 0; i < 40; ++i) {
    std::string words = prose.substr(i * 40, 40);
    for (char& c : words)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = ' ';
    lines += "{\"text\": \"" + words + "\", \"other\": \"" + words.substr(7) + " and more\"}\n";
  }
  return lines;
}

/// Thirty rows of two numbers and a class.
std::string rows(const std::string& head, char separator) {
  std::string text = head;
  for (int i = 0; i < 30; ++i) {
    text += std::to_string(i * 7 % 10) + separator + std::to_string(i * 3 % 8) + separator;
    text += std::to_string(i % 2) + "\n";
  }
  return text;
}

std::string rows_with(const std::string& one, const std::string& other) {
  std::string text;
  for (int i = 0; i < 30; ++i)
    text += std::to_string(i) + "," +
            (i % 5 == 0   ? one
             : i % 5 == 1 ? other
                          : std::to_string(i)) +
            "," + std::to_string(i % 2) + "\n";
  return text;
}

/// Thirty rows of a number, a list of three ids and a class.
std::string lists(char separator) {
  std::string text = "a,b,c\n";
  for (int i = 0; i < 30; ++i) {
    text += std::to_string(i) + ",\"" + std::to_string(i) + separator + std::to_string(i * i) + separator + "7\",";
    text += std::to_string(i % 2) + "\n";
  }
  return text;
}

/// Options of a data set, and others in their place.
Options with(Options options, const Options& more) {
  for (const auto& [name, value] : more) options[name] = value;
  return options;
}

Experiments of_text_options() {
  const std::string whales = source_dir() + "/tests/golden/whales.txt", prose = read_file(whales);
  files().write("parts/a.txt", prose.substr(0, 900));
  files().write("parts/b.txt", prose.substr(900, 900));
  files().write("parts/c.md", prose.substr(1800));
  const std::string parts = text(files() / "parts");
  // A tokenizer of bytes alone, with a token for the end of a document.
  const std::string tokenizer = file("tokenizer.json", byte_tokenizer());
  const std::string lined = file("lines.txt", "one two\nthree four five\n" + prose);
  const std::string objects = file("objects.jsonl", json_lines(prose));
  const Options by_file{{"tokenizer", tokenizer}, {"cache", text("none")}, {"separator", text("<|end|>")}};
  return {
      {"data.text.path", {of_text({}, {text(whales), parts})}},
      {"data.text.tokenizer",
       {of_text({{"path", file("llmc.bin", llmc_file())}}), of_text({{"path", file("u16.bin", words(token_ids()))}}),
        of_text({{"path", file("umlauts.txt", "Größe " + prose)}})}},
      {"data.text.context", {of_text({{"context", kUnset}}, {kUnset, "32"})}},
      {"data.text.held_out", {of_text({}, {kUnset, "0.4"})}},
      {"data.text.held_out_every", {of_text({{"path", parts}}, {kUnset, "2"})}},
      {"data.text.held_out_path", {of_text({}, {kUnset, text(files() / "parts/c.md")})}},
      {"data.text.extensions", {of_text({{"path", parts}}, {kUnset, list({"md"})})}},
      {"data.text.shuffle", {of_text({})}},
      {"data.text.vocab", {of_text({}, {kUnset, "300"})}},
      {"data.text.separator", {of_text({}, {text(" "), text("e")})}},
      {"data.text.separator_token",
       {of_text({{"path", file("llmc.bin", llmc_file())}, {"tokenizer", text("llmc")}, {"held_out", "0.4"}},
                {"4", "9"})}},
      {"data.text.documents",
       {of_text(with(by_file, {{"path", lined}}), {text("files"), text("lines")}),
        of_text(with(by_file, {{"path", objects}}), {text("files"), text("lines"), text("jsonl")})}},
      {"data.text.json_field",
       {of_text(with(by_file, {{"path", objects}, {"documents", text("jsonl")}}), {kUnset, text("other")})}},
      {"data.text.mask_boundaries", {of_text({{"separator", text(" ")}})}},
      {"data.text.cache",
       {of_text({{"path", lined}, {"tokenizer", tokenizer}}, {text("none"), text("/proc/nowhere")})}},
  };
}

Experiments of_synthetic_options() {
  return {
      {"data.synthetic.context", {of_synthetic({{"context", "8"}, {"vocab", "20"}}, {"8", "16"})}},
      {"data.synthetic.vocab", {of_synthetic({{"context", "8"}, {"vocab", "20"}}, {"20", "30"})}},
      {"data.synthetic.features", {of_synthetic({}, {"2", "3"})}},
      {"data.synthetic.classes", {of_synthetic({}, {"3", "4"})}},
      {"data.synthetic.fields",
       {of_synthetic({{"fields", list({"features f32 2", "label i32 < 3"})}},
                     {list({"features f32 2", "label i32 < 3"}), list({"features f32 5", "label i32 < 3"})})}},
      {"data.synthetic.rows", {of_synthetic({}, {kUnset, "40", "7"})}},
      {"data.synthetic.held_out", {of_synthetic({}, {kUnset, "8", "2"})}},
      {"data.synthetic.noise", {of_synthetic({}, {kUnset, "0.9"})}},
      {"data.synthetic.shuffle", {of_synthetic({})}},
  };
}

Experiments of_table_options() {
  const std::string barred = file("barred.csv", lists('|'));
  const std::string numeric = file("rows.csv", rows("", ',')), named = file("named.csv", rows("a,b,c\n", ','));
  return {
      {"data.table.path", {of_table({}, {numeric, file("more.csv", rows("9,9,1\n", ','))})}},
      {"data.table.rows", {of_table({}, {some_rows(7), some_rows(3)})}},
      {"data.table.separator",
       {of_table({{"path", file("semicolons.csv", rows("", ';'))}}),
        of_table({{"path", file("tabs.csv", rows("", '\t'))}})}},
      {"data.table.header", {of_table({{"path", numeric}}), of_table({{"path", named}})}},
      {"data.table.label", {of_table({{"path", named}}, {kUnset, text("a")})}},
      {"data.table.features", {of_table({{"path", named}}, {kUnset, list({"b"})})}},
      {"data.table.ids", {of_table({{"path", named}}, {kUnset, list({"a"})})}},
      {"data.table.lists", {of_table({{"path", barred}, {"most", "3"}}, {kUnset, list({"b"})})}},
      {"data.table.list_separator",
       {of_table({{"path", barred}, {"lists", list({"b"})}, {"most", "3"}}),
        of_table({{"path", file("spaced.csv", lists(' '))}, {"lists", list({"b"})}, {"most", "3"}}),
        of_table({{"path", file("commas.csv", lists(','))}, {"lists", list({"b"})}, {"most", "3"}})}},
      {"data.table.most", {of_table({{"path", barred}, {"lists", list({"b"})}}, {kUnset, "3", "2"})}},
      {"data.table.longer", {of_table({{"path", barred}, {"lists", list({"b"})}, {"most", "2"}})}},
      {"data.table.task", {of_table({{"path", numeric}})}},
      {"data.table.normalize", {of_table({{"path", numeric}})}},
      {"data.table.missing", {of_table({{"path", file("holes.csv", rows_with("", "5"))}})}},
      {"data.table.max_categories", {of_table({{"path", file("words.csv", rows_with("x", "y"))}}, {kUnset, "3"})}},
      {"data.table.held_out", {of_table({{"path", numeric}}, {kUnset, "0.5"})}},
      {"data.table.shuffle", {of_table({{"path", numeric}})}},
  };
}

}  // namespace

const TemporaryFolder& files() {
  static const TemporaryFolder folder;
  return folder;
}

Experiments optimizer_experiments() {
  const Options moving{{"momentum", "0.9"}};
  Experiments all{
      {"optimizer.sgd.lr", {of_optimizer({kUnset, "0.2"})}},
      {"optimizer.sgd.momentum", {of_optimizer({kUnset, "0.9"})}},
      {"optimizer.sgd.dampening", {of_optimizer({kUnset, "0.5"}, moving)}},
      {"optimizer.sgd.nesterov", {of_optimizer({}, moving)}},
      {"optimizer.sgd.weight_decay", {of_optimizer({kUnset, "0.5"})}},
  };
  const Options plain{{"rule", text("adamw")}};
  all.merge(Experiments{
      {"optimizer.adafactor.lr", {of_optimizer({kUnset, "0.001"})}},
      {"optimizer.adafactor.decay", {of_optimizer({kUnset, "0.3"})}},
      {"optimizer.adafactor.epsilon1", {of_optimizer({kUnset, "0.5"})}},
      {"optimizer.adafactor.epsilon2", {of_optimizer({kUnset, "9"})}},
      {"optimizer.adafactor.clip", {of_optimizer({kUnset, "0.2"})}},
      {"optimizer.adafactor.weight_decay", {of_optimizer({kUnset, "0.5"})}},
      {"optimizer.muon.lr", {of_optimizer({kUnset, "0.2"})}},
      {"optimizer.muon.rule", {of_optimizer({})}},
      {"optimizer.muon.momentum", {of_optimizer({kUnset, "0.3"})}},
      {"optimizer.muon.nesterov", {of_optimizer({})}},
      {"optimizer.muon.steps", {of_optimizer({kUnset, "2"})}},
      {"optimizer.muon.weight_decay", {of_optimizer({kUnset, "0.5"}, {{"lr", "0.1"}})}},
      {"optimizer.muon.adamw_rate", {of_optimizer({kUnset, "0.5"}, plain)}},
      {"optimizer.muon.beta1", {of_optimizer({kUnset, "0.3"}, plain)}},
      {"optimizer.muon.beta2", {of_optimizer({kUnset, "0.3"}, plain)}},
      {"optimizer.muon.epsilon", {of_optimizer({kUnset, "0.5"}, plain)}},
  });
  for (const std::string name : {"adamw", "lamb"}) {
    const std::string prefix = "optimizer." + name + ".";
    all[prefix + "lr"] = {of_optimizer({kUnset, "0.2"})};
    all[prefix + "beta1"] = {of_optimizer({kUnset, "0.3"})};
    all[prefix + "beta2"] = {of_optimizer({kUnset, "0.3"})};
    all[prefix + "epsilon"] = {of_optimizer({kUnset, "0.5"})};
    all[prefix + "weight_decay"] = {of_optimizer({kUnset, "0.5"}, {{"lr", "0.1"}})};
  }
  all["optimizer.adamw.variance_steps"] = {of_optimizer({kUnset, "1"})};
  Trial sharded = of_optimizer({kUnset, "2"});
  sharded.view = program;
  sharded.job.mesh = {{"data", 2}};
  sharded.job.plan = {{"zero", {{"stage", "1"}}}};
  all["optimizer.lamb.apply_groups"] = {sharded};
  return all;
}

Experiments data_experiments() {
  Experiments all;
  for (const auto of : {of_text_options, of_synthetic_options, of_table_options}) all.merge(of());
  return all;
}

}  // namespace baleen::test::options
