-- A small GPT that is cut by hand along `tensor`: attention by heads, mlps by their inner width, embedding, head and
-- loss by the vocabulary. hand=false leaves it to the plan; whole=mlp takes the mlps out again; tokens cuts what lies
-- around attention and mlps by the sequence; rows cuts the batch along `data`; cut is a list of `name@axis@dim`.
local baleen = require "baleen"
local nn, parallel = baleen.nn, baleen.parallel

local hand, whole = baleen.arg("hand", true), baleen.arg("whole", "")
local tokens, rows = baleen.arg("tokens", false), baleen.arg("rows", false)
local dim, heads, context = baleen.arg("dim", 24), baleen.arg("heads", 6), baleen.arg("context", 12)
local corpus = baleen.data.text { path = baleen.arg("data"), tokenizer = "bytes", context = context, held_out = 0.2 }

local function split(axis, ...)
  if hand then return parallel.split { axis = "tensor", dim = axis } (...) end
  return (...)(select(2, ...))
end

local function normed(norm, x)
  if not tokens then return norm(x) end
  return parallel.split { axis = "tensor", dim = "seq" } (function() return norm(x) end)
end

local block = nn.layer {
  kind = "hand_made_block",
  label = "block",
  setup = function(self)
    self.attention_norm, self.mlp_norm = nn.layer_norm { name = "attention_norm" }, nn.layer_norm { name = "mlp_norm" }
    self.attention = nn.attention {
      name = "attention", heads = heads, kv_heads = baleen.arg("kv_heads", heads), causal = true,
    }
    self.mlp = nn.mlp { name = "mlp", hidden = baleen.arg("hidden", 4 * dim) }
    self.drop = nn.dropout { name = "drop", p = baleen.arg("dropout", 0.0) }
    self.drop_mlp = nn.dropout { name = "drop_mlp", p = baleen.arg("dropout", 0.0) }
  end,
  forward = function(self, x)
    x = x + self.drop(split("heads", self.attention, normed(self.attention_norm, x)))
    local function feed(y)
      if whole == "mlp" then return parallel.replicate { axis = "tensor" } (self.mlp, y) end
      return self.mlp(y)
    end
    return x + self.drop_mlp(split("ff", feed, normed(self.mlp_norm, x)))
  end,
}

local embedding = nn.embedding { vocab = corpus.vocab, dim = dim, positions = context }
local blocks, norm = nn.repeated(2, function() return block {} end), nn.layer_norm { name = "norm" }
local head = baleen.arg("tied", false) and nn.tied(embedding)
  or nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } }
for name, axis, dimension in baleen.arg("cut", ""):gmatch("([^@;]+)@([^@;]+)@([^@;]+)") do
  parallel.layout { name = name, axis = axis, placement = "shard", dim = math.tointeger(dimension) or dimension }
end
if rows then
  parallel.layout { name = { "tokens", "targets" }, axis = "data", placement = "shard", dim = "batch" }
end

return baleen.job {
  model = function(ids) return split("vocab", head, norm(blocks(split("vocab", embedding, ids)))) end,
  loss = nn.cross_entropy {}, data = corpus,
  batch = baleen.arg("batch", 8), steps = 20,
  clip_grad_norm = baleen.arg("clip", 0.0), gradient_accumulation_steps = baleen.arg("accumulate", 1),
  optimizer = baleen.optimizer(baleen.arg("optimizer", "adamw"), { lr = baleen.cosine { peak = 1e-2, warmup = 3 } }),
  evaluate = { every = 10, batches = 2 },
  generate = baleen.arg("write", false) and { prompt = "a", tokens = 5, temperature = 0 } or nil,
}
