--- BERT (arXiv 1810.04805): learned positions and token types, norms after, exact gelu. Called as model(tokens, {
--- types = ids, documents = ids }): `types`, [batch, seq], numbers segments (0 unless given); `documents`, int32
--- [batch, seq], is -1 behind a sequence's end and 0 before it (a token sees those of its own number).
local encoder = require "baleen.models.encoder"
local initializer = require "baleen.initializer"
local layer = require "baleen.nn.layer"
local map = require "baleen.models.map"
local nn = require "baleen.nn"
local ops = require "baleen.ops"
local rules = require "baleen.models.rules"
local vocabulary = require "baleen.models.vocabulary"

local function embedded(self, tokens, types)
  local x = self.embedding(tokens)
  local shape = { self.types, self.embedding.dim }
  local table = self:parameter("types", shape, { axes = { "", "embed" }, init = self.init })
  if types then return self.embedding_norm(x + ops.embedding(table, types)) end
  local first = ops.slice(table, 1, 1, 1)
  return self.embedding_norm(x + ops.reshape(first, { first.shape[2] }))
end

local bert = layer.define {
  kind = "bert",
  options = {
    embedding = { type = "table", required = true },
    types = { type = "integer", required = true, min = 1 },
    init = { type = "table", default = initializer.normal(0.02) },
    embedding_norm = { type = "table", required = true },
    blocks = { type = "table", required = true },
    head = { type = "string", required = true },
    activation = { type = "string", required = true },
    epsilon = { type = "number", required = true },
    vocab = { type = "integer", required = true },
    labels = { type = "integer", required = true },
  },
  setup = function(self)
    local width = self.embedding.dim
    if self.head == "pooler" or self.head == "classifier" then
      self.pooler = nn.linear { name = "pooler", out = width, axes = { "embed" } }
    end
    if self.head == "classifier" then self.classifier = nn.linear { name = "classifier", out = self.labels } end
    if self.head == "mlm" then
      self.transform = nn.linear { name = "transform", out = width, axes = { "embed" } }
      self.transform_norm = nn.layer_norm { name = "transform_norm", epsilon = self.epsilon }
      self.decoder = nn.linear {
        name = "decoder", tied_to = self.embedding, axes = { "vocab" }, out = self.embedding.vocab,
      }
    end
  end,
  children = function(self) return { self.embedding, self.embedding_norm, self.blocks } end,
  --- The last hidden states: [batch, seq, width].
  hidden = function(self, tokens, given)
    given = given or {}
    return self:within(function() return self.blocks(embedded(self, tokens, given.types), given.documents) end)
  end,
  --- By the head: none: hidden states; pooler: [batch, width] of the first token; mlm: logits of tokens; classifier:
  --- logits [batch, labels].
  forward = function(self, tokens, given)
    local x = self:hidden(tokens, given)
    if self.head == "none" then return x end
    if self.head == "mlm" then
      local y = self.transform_norm(ops[self.activation](self.transform(x)))
      return vocabulary.masked(self.decoder(y), self.vocab)
    end
    local first = ops.reshape(ops.slice(x, 2, 1, 1), { x.shape[1], x.shape[3] })
    local pooled = ops.tanh(self.pooler(first))
    return self.classifier and self.classifier(pooled) or pooled
  end,
}

local function build(config, given)
  local width = config:integer("hidden_size")
  config:only("is_decoder", false)
  config:only("add_cross_attention", false)
  config:only("position_embedding_type", "absolute")
  local epsilon, vocab = config:number("layer_norm_eps", 1e-12), config:integer("vocab_size")
  if given.head == "mlm" and not config:boolean("tie_word_embeddings", true) then
    config:fail("`tie_word_embeddings` is false; a masked language model whose decoder is not tied is not supported")
  end
  local activation = config:activation("hidden_act", "gelu")
  return bert {
    embedding = nn.embedding {
      name = "embedding", vocab = vocabulary.extent(vocab, given), dim = width,
      positions = config:integer("max_position_embeddings"),
    },
    types = config:integer("type_vocab_size", 2),
    embedding_norm = nn.layer_norm { name = "embedding_norm", epsilon = epsilon },
    blocks = encoder.blocks(config:count("num_hidden_layers"), {
      norm = "after", heads = config:heads("num_attention_heads", width), hidden = config:integer("intermediate_size"),
      activation = activation, epsilon = epsilon, dropout = given.dropout,
    }),
    head = given.head, activation = activation, epsilon = epsilon, vocab = vocab, labels = config:labels(),
  }
end

local function tensors(config, given, add)
  local width = config:integer("hidden_size")
  local heads = config:heads("num_attention_heads", width)
  local sizes = {
    v = config:integer("vocab_size"), e = width, i = width, s = config:integer("max_position_embeddings"),
    t = config:integer("type_vocab_size", 2), p = 3, h = heads, d = width // heads,
    f = config:integer("intermediate_size"), c = config:labels(),
  }
  local one, norm, linear = rules(add, sizes)
  local embeddings = "bert.embeddings."
  one("embedding.weight", embeddings .. "word_embeddings.weight", "v e",
    { padded = "v", copies = given.head == "mlm" and { "cls.predictions.decoder.weight" } or {} })
  one("embedding.positions", embeddings .. "position_embeddings.weight", "s e")
  one("types", embeddings .. "token_type_embeddings.weight", "t e")
  norm("embedding_norm", embeddings .. "LayerNorm")
  for i = 0, config:count("num_hidden_layers") - 1 do
    local ours, theirs = ("blocks.%d."):format(i), ("bert.encoder.layer.%d."):format(i)
    encoder.attention(one, ours .. "attention.", theirs .. "attention.self.%s", theirs .. "attention.output.dense")
    norm(ours .. "attention_norm", theirs .. "attention.output.LayerNorm")
    encoder.mlp(one, ours .. "mlp.", theirs .. "intermediate.dense", theirs .. "output.dense")
    norm(ours .. "mlp_norm", theirs .. "output.LayerNorm")
  end
  if given.head == "pooler" or given.head == "classifier" then
    linear("pooler", "bert.pooler.dense", "e i -> i e", "e")
  end
  if given.head == "classifier" then
    linear("classifier", "classifier", "c e -> e c", "c")
  elseif given.head == "mlm" then
    linear("transform", "cls.predictions.transform.dense", "e i -> i e", "e")
    norm("transform_norm", "cls.predictions.transform.LayerNorm")
    one("decoder.bias", "cls.predictions.bias", "v", { padded = "v", copies = { "cls.predictions.decoder.bias" } })
  end
end

local function unused(head)
  if head == "mlm" then return { "bert.pooler.*", "cls.seq_relationship.*" } end
  return head == "none" and { "bert.pooler.*", "cls.*" } or { "cls.*" }
end

return map {
  name = "bert", types = { "bert" }, default = "pooler", prefix = "bert.", bare = { "none", "pooler" },
  heads = {
    pooler = "BertModel", none = "BertModel without its pooler", mlm = "BertForMaskedLM",
    classifier = "BertForSequenceClassification",
  },
  ignored = { "*.position_ids" },
  earlier = { [".LayerNorm.gamma"] = ".LayerNorm.weight", [".LayerNorm.beta"] = ".LayerNorm.bias" },
  build = build, tensors = tensors, unused = unused,
}
