--- Llama (arXiv 2302.13971, 2307.09288) and Mistral: RMS norms before, rotary positions in the form "rotate half",
--- heads of keys and values that several of queries share, SwiGLU. `parts` is what other models of this shape are made
--- of.
local core = require "baleen.core"
local language_model = require "baleen.models.language_model"
local map = require "baleen.models.map"
local nn = require "baleen.nn"
local vocabulary = require "baleen.models.vocabulary"

local parts = {}

--- The widths and heads of a config.
function parts.shape(config)
  local width = config:integer("hidden_size")
  local heads = config:integer("num_attention_heads")
  local shape = {
    width = width, heads = heads, kv_heads = config:integer("num_key_value_heads", heads),
    layers = config:count("num_hidden_layers"), hidden = config:integer("intermediate_size"),
    vocab = config:integer("vocab_size"), epsilon = config:number("rms_norm_eps", 1e-6),
    bias = config:boolean("attention_bias", false), mlp_bias = config:boolean("mlp_bias", false),
    tied = config:boolean("tie_word_embeddings", false),
  }
  if not config.values.head_dim then config:heads("num_attention_heads", width) end
  shape.head_dim = config:integer("head_dim", width // heads)
  return shape
end

--- Rotary positions by `rope_parameters`, or by the older `rope_theta` and `rope_scaling`.
function parts.rotary(config)
  local given = config:table("rope_parameters", config:table("rope_scaling", {}))
  local theta = given.rope_theta or config:number("rope_theta", 10000.0)
  local kind = given.rope_type or given.type or "default"
  if kind == "default" then return nn.rotary { base = theta } end
  local function number(name, default)
    local value = given[name] or default
    if type(value) ~= "number" then config:fail(("rotary positions: `%s` is %s; it must be a number"):format(name,
      core.describe(value))) end
    return value
  end
  if kind == "linear" then return nn.rotary { base = theta, factor = number("factor") } end
  if kind == "llama3" then
    return nn.rotary {
      base = theta, factor = number("factor"), low = number("low_freq_factor"), high = number("high_freq_factor"),
      context = number("original_max_position_embeddings", config.values.max_position_embeddings),
    }
  end
  config:fail("rotary positions: "
    .. core.unknown_word("`rope_type`", tostring(kind), { "default", "linear", "llama3" }))
end

--- The whole model; `mlp`, unless it is nil, makes what stands in the place of each block's mlp.
function parts.build(config, given, mlp)
  local shape = parts.shape(config)
  local window = config.values.sliding_window
  if window and window < config:integer("max_position_embeddings") then
    config:fail(("`sliding_window` is %s, below `max_position_embeddings`; attention within a window is not supported; "
      .. "null turns it off"):format(core.describe(window)))
  end
  local activation = config:text("hidden_act", "silu")
  if activation ~= "silu" then config:fail("`hidden_act` is " .. activation .. "; only silu is supported") end
  local vocab = vocabulary.extent(shape.vocab, given)
  local embedding = nn.embedding { name = "embedding", vocab = vocab, dim = shape.width }
  local function block()
    return nn.transformer_block {
      norm = "rms", epsilon = shape.epsilon, causal = true, heads = shape.heads, kv_heads = shape.kv_heads,
      head_dim = shape.head_dim, rotary = parts.rotary(config), hidden = shape.hidden, activation = "swiglu",
      bias = shape.bias, mlp_bias = shape.mlp_bias, mlp = mlp and mlp(), dropout = given.dropout,
    }
  end
  local head
  if given.head == "lm" then
    head = nn.linear {
      name = "head", out = vocab, bias = false, axes = { "vocab" }, tied_to = shape.tied and embedding or nil,
    }
  end
  return language_model {
    embedding = embedding, blocks = nn.repeated(shape.layers, block, { name = "blocks" }),
    norm = nn.rms_norm { name = "norm", epsilon = shape.epsilon }, head = head, vocab = shape.vocab,
  }
end

local function attention(shape, add, sizes, ours, theirs)
  local function projection(our, their, form, stack)
    add {
      ours = ours .. our .. ".weight", theirs = their(".weight"), form = form .. " e -> e " .. stack, sizes = sizes,
      stack = #their(".weight") > 1 and "p" or "",
    }
    if not shape.bias then return end
    add {
      ours = ours .. our .. ".bias", theirs = their(".bias"), form = form .. " -> " .. stack, sizes = sizes,
      stack = #their(".bias") > 1 and "p" or "",
    }
  end
  local function names(...)
    local list = { ... }
    return function(ending)
      local result = {}
      for i, name in ipairs(list) do result[i] = theirs .. name .. ending end
      return result
    end
  end
  if shape.heads == shape.kv_heads then
    sizes.p = 3
    projection("qkv", names("q_proj", "k_proj", "v_proj"), "(h d)", "p h d")
  else
    projection("q", names("q_proj"), "(h d)", "h d")
    projection("kv", names("k_proj", "v_proj"), "(g d)", "p g d")
  end
  add { ours = ours .. "out.weight", theirs = theirs .. "o_proj.weight", form = "e (h d) -> h d e", sizes = sizes }
  if shape.bias then add { ours = ours .. "out.bias", theirs = theirs .. "o_proj.bias", form = "e", sizes = sizes } end
end

local function gated_mlp(shape, add, sizes, ours, theirs)
  for our, their in pairs { up = "up_proj", gate = "gate_proj", down = "down_proj" } do
    local form = our == "down" and "e f -> f e" or "f e -> e f"
    add { ours = ours .. our .. ".weight", theirs = theirs .. their .. ".weight", form = form, sizes = sizes }
    if shape.mlp_bias then
      add { ours = ours .. our .. ".bias", theirs = theirs .. their .. ".bias", form = our == "down" and "e" or "f",
            sizes = sizes }
    end
  end
end

--- The rules; `mlp(shape, add, sizes, ours, theirs)` gives those of a block's mlp (default: up, gate, down).
function parts.tensors(config, given, add, mlp)
  local shape = parts.shape(config)
  local sizes = {
    v = shape.vocab, e = shape.width, h = shape.heads, g = shape.kv_heads, d = shape.head_dim, f = shape.hidden, p = 2,
  }
  add {
    ours = "embedding.weight", theirs = "model.embed_tokens.weight", form = "v e", sizes = sizes, padded = "v",
    copies = shape.tied and given.head == "lm" and { "lm_head.weight" } or {},
  }
  for i = 0, shape.layers - 1 do
    local ours, theirs = ("blocks.%d."):format(i), ("model.layers.%d."):format(i)
    add {
      ours = ours .. "attention_norm.gamma", theirs = theirs .. "input_layernorm.weight", form = "e", sizes = sizes,
    }
    attention(shape, add, sizes, ours .. "attention.", theirs .. "self_attn.")
    add {
      ours = ours .. "mlp_norm.gamma", theirs = theirs .. "post_attention_layernorm.weight", form = "e", sizes = sizes,
    }
    if mlp then
      mlp(shape, add, sizes, ours, theirs)
    else
      gated_mlp(shape, add, sizes, ours .. "mlp.", theirs .. "mlp.")
    end
  end
  add { ours = "norm.gamma", theirs = "model.norm.weight", form = "e", sizes = sizes }
  if given.head == "lm" and not shape.tied then
    add { ours = "head.weight", theirs = "lm_head.weight", form = "v e -> e v", sizes = sizes, padded = "v" }
  end
end

local function a_map(name, causal, base)
  return map {
    name = name, types = { name }, heads = { lm = causal, none = base }, default = "lm", prefix = "model.",
    unused = function(head) return head == "none" and { "lm_head.weight" } or {} end,
    bare = { "none" }, ignored = { "*.rotary_emb.inv_freq" }, build = parts.build,
    tensors = function(config, given, add) parts.tensors(config, given, add) end,
  }
end

return {
  parts = parts, llama = a_map("llama", "LlamaForCausalLM", "LlamaModel"),
  mistral = a_map("mistral", "MistralForCausalLM", "MistralModel"),
}
