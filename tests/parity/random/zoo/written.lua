-- Attention written out with products and a softmax: directions are compared, far tokens count less, the logits are
-- capped, and the inner layer squares.
local baleen = require "baleen"
local settings = require "settings"
local init, nn, ops = baleen.init, baleen.nn, baleen.ops

local corpus = settings.text()
local start = init.normal(0.2)

local attention = nn.layer {
  kind = "written_attention",
  forward = function(self, x)
    local dim, heads, tokens = x.shape[3], settings.heads, x.shape[2]
    local width = dim // heads
    local function project(name)
      return ops.matmul("bsd,dhe->bhse", x, self:parameter(name, { dim, heads, width }, {
        axes = { "embed", "heads", "head_dim" }, init = start,
      }))
    end
    local function direction(y) return y / ops.sqrt(ops.sum(y * y, 4, true) + 1e-3) end
    local scale = self:parameter("scale", { heads, 1, 1 }, { axes = { "heads", "", "" }, init = init.constant(2) })
    local scores = ops.matmul("bhse,bhte->bhst", direction(project("q")), direction(project("k"))) * scale
    local to, from = ops.index({ tokens, tokens }, 1), ops.index({ tokens, tokens }, 2)
    local past = ops.reshape(ops.le(from, to), { 1, 1, tokens, tokens })
    scores = ops.select(past, scores + ops.reshape((from - to) * 0.1, { 1, 1, tokens, tokens }), -1e9)
    local seen = ops.matmul("bhst,bhte->bshe", ops.softmax(scores), project("v"))
    return ops.matmul("bshe,hed->bsd", seen, self:parameter("out", { heads, width, dim }, {
      axes = { "heads", "head_dim", "embed" }, init = start,
    }))
  end,
}

local inner = nn.layer {
  kind = "squared",
  forward = function(self, x)
    local dim, hidden = x.shape[3], settings.hidden or 2 * x.shape[3]
    local up = self:parameter("up", { dim, hidden }, { axes = { "embed", "ff" }, init = start })
    local down = self:parameter("down", { hidden, dim }, { axes = { "ff", "embed" }, init = start })
    local gain = self:parameter("gain", { 1 }, { init = init.constant(0.5) })
    local positive = ops.relu(ops.matmul("bsd,df->bsf", x, up))
    return ops.matmul("bsf,fd->bsd", positive * positive, down) * gain
  end,
}

local embedding = nn.embedding { name = "embedding", vocab = corpus.vocab, dim = settings.dim }
local blocks = {}
for i = 1, settings.layers do
  blocks[i] = {
    nn.rms_norm { name = "norm_a" .. i }, attention { name = "a" .. i },
    nn.rms_norm { name = "norm_f" .. i }, inner { name = "f" .. i },
    nn.dropout { name = "d" .. i, p = settings.dropout },
  }
end
local head = nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" }, init = start }

return settings.job {
  model = function(tokens)
    local x = embedding(tokens)
    for _, block in ipairs(blocks) do
      local norm_a, a, norm_f, f, drop = table.unpack(block)
      x = x + drop(a(norm_a(x)))
      x = x + f(norm_f(x))
    end
    return ops.tanh(head(x) / 8) * 8
  end,
  loss = settings.loss(), data = corpus,
}
