--- GPT-2 (Radford et al. 2019): learned positions, norms before, gelu by tanh. Its linear layers are stored as
--- [inputs, outputs], and queries, keys and values are one.
local language_model = require "baleen.models.language_model"
local map = require "baleen.models.map"
local nn = require "baleen.nn"
local rules = require "baleen.models.rules"
local vocabulary = require "baleen.models.vocabulary"

local function build(config, given)
  local width = config:integer("n_embd")
  config:only("scale_attn_weights", true)
  config:only("scale_attn_by_inverse_layer_idx", false)
  config:only("add_cross_attention", false)
  local vocab = config:integer("vocab_size")
  local epsilon = config:number("layer_norm_epsilon", 1e-5)
  local embedding = nn.embedding {
    name = "embedding", vocab = vocabulary.extent(vocab, given), dim = width,
    positions = config:integer("n_positions", 1024),
  }
  local function block()
    return nn.transformer_block {
      heads = config:heads("n_head", width), causal = true, hidden = config:integer("n_inner", 4 * width),
      activation = config:activation("activation_function", "gelu_new"), epsilon = epsilon, dropout = given.dropout,
    }
  end
  local head
  if given.head == "lm" then
    head = nn.linear {
      name = "head", out = vocabulary.extent(vocab, given), bias = false, axes = { "vocab" },
      tied_to = config:boolean("tie_word_embeddings", true) and embedding or nil,
    }
  end
  return language_model {
    embedding = embedding, blocks = nn.repeated(config:count("n_layer"), block, { name = "blocks" }),
    norm = nn.layer_norm { name = "norm", epsilon = epsilon }, head = head, vocab = vocab,
  }
end

local function tensors(config, given, add)
  local width = config:integer("n_embd")
  local heads = config:heads("n_head", width)
  local sizes = {
    v = config:integer("vocab_size"), e = width, s = config:integer("n_positions", 1024), p = 3, h = heads,
    d = width // heads, f = config:integer("n_inner", 4 * width),
  }
  local one, norm = rules(add, sizes, "transformer.")
  local tied = config:boolean("tie_word_embeddings", true)
  one("embedding.weight", "wte.weight", "v e",
    { padded = "v", copies = tied and given.head == "lm" and { "lm_head.weight" } or {} })
  one("embedding.positions", "wpe.weight", "s e")
  for i = 0, config:count("n_layer") - 1 do
    local ours, theirs = ("blocks.%d."):format(i), ("h.%d."):format(i)
    norm(ours .. "attention_norm", theirs .. "ln_1")
    one(ours .. "attention.qkv.weight", theirs .. "attn.c_attn.weight", "e (p h d) -> e p h d")
    one(ours .. "attention.qkv.bias", theirs .. "attn.c_attn.bias", "(p h d) -> p h d")
    one(ours .. "attention.out.weight", theirs .. "attn.c_proj.weight", "(h d) e -> h d e")
    one(ours .. "attention.out.bias", theirs .. "attn.c_proj.bias", "e")
    norm(ours .. "mlp_norm", theirs .. "ln_2")
    one(ours .. "mlp.up.weight", theirs .. "mlp.c_fc.weight", "e f")
    one(ours .. "mlp.up.bias", theirs .. "mlp.c_fc.bias", "f")
    one(ours .. "mlp.down.weight", theirs .. "mlp.c_proj.weight", "f e")
    one(ours .. "mlp.down.bias", theirs .. "mlp.c_proj.bias", "e")
  end
  norm("norm", "ln_f")
  if given.head == "lm" and not tied then
    add { ours = "head.weight", theirs = "lm_head.weight", form = "v e -> e v", sizes = sizes, padded = "v" }
  end
end

local function unused(head) return head == "none" and { "lm_head.weight" } or {} end

return map {
  name = "gpt2", types = { "gpt2" }, heads = { lm = "GPT2LMHeadModel", none = "GPT2Model" }, default = "lm",
  prefix = "transformer.", bare = { "none" },
  ignored = { "*.attn.bias", "*.attn.masked_bias" }, -- the causal mask, which older files hold
  build = build, tensors = tensors, unused = unused,
}
