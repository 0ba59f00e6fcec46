-- Experts that all see every token, weighted by a gate, with a loss that balances them; matrices of low rank beside one
-- that may be frozen; and a loss that keeps the logits small.
local baleen = require "baleen"
local settings = require "settings"
local arg, init, nn, ops = baleen.arg, baleen.init, baleen.nn, baleen.ops

local count, balances, adapts = arg("experts", 3), arg("balance", false), arg("adapters", false)
local small, expert_axis = arg("small_logits", false), arg("expert_axis", "")
local corpus = settings.text()
local hidden = settings.hidden or 2 * settings.dim
local uneven = {} -- how unevenly each layer's experts were chosen

local experts = nn.layer {
  kind = "experts",
  forward = function(self, x)
    local dim = x.shape[3]
    local gate = self:parameter("gate", { dim, count }, { axes = { "embed", "" }, init = init.normal(0.3) })
    local up = self:parameter("up", { count, dim, hidden }, {
      axes = { expert_axis, "embed", "ff" }, init = init.normal(0.1),
    })
    local down = self:parameter("down", { count, hidden, dim }, {
      axes = { expert_axis, "ff", "embed" }, init = init.normal(0.1),
    })
    local share = ops.softmax(ops.matmul("bsd,de->bse", x, gate))
    if balances then
      local mean = ops.mean(share, { 1, 2 })
      table.insert(uneven, ops.sum(mean * mean) * count)
    end
    local made = ops.matmul("bsef,efd->bsed", ops.silu(ops.matmul("bsd,edf->bsef", x, up)), down)
    return ops.matmul("bse,bsed->bsd", share, made)
  end,
}

local adapter = nn.layer {
  kind = "adapter",
  forward = function(self, x)
    local dim = x.shape[3]
    local base = self:parameter("base", { dim, dim }, { axes = { "embed", "embed" }, init = init.normal(0.2) })
    local into = self:parameter("into", { dim, 2 }, { axes = { "embed", "" }, init = init.normal(0.2) })
    local out = self:parameter("out", { 2, dim }, { axes = { "", "embed" }, init = init.normal(0.1) })
    local low = ops.matmul("bsr,rd->bsd", ops.matmul("bsd,dr->bsr", x, into), out)
    return ops.matmul("bsd,de->bse", x, base) + low
  end,
}

local embedding = nn.embedding {
  name = "embedding", vocab = corpus.vocab, dim = settings.dim, positions = settings.context,
}
local blocks = {}
for i = 1, settings.layers do
  blocks[i] = {
    norm = nn.rms_norm { name = "norm_" .. i }, experts = experts { name = "experts_" .. i },
    attention = nn.attention { name = "attention_" .. i, heads = settings.heads, causal = true, bias = false },
    adapter = adapts and adapter { name = "adapter_" .. i } or function(x) return x end,
  }
end
local final = nn.layer_norm { name = "final" }
local head = nn.linear { name = "head", out = corpus.vocab, bias = false, axes = { "vocab" } }
local loss = settings.loss()

return settings.job {
  model = function(tokens)
    uneven = {}
    local x = embedding(tokens)
    for _, block in ipairs(blocks) do
      x = block.adapter(x + block.attention(block.norm(x)))
      x = x + block.experts(x)
    end
    return head(final(x))
  end,
  loss = function(logits, target)
    local total, weight = loss(logits, target)
    if small then
      local most = ops.amax(logits, -1, true)
      local scale = ops.log(ops.sum(ops.exp(logits - most), -1, true)) + most
      total = total + ops.sum(scale * scale) * 1e-2
    end
    for _, one in ipairs(uneven) do total = total + one * (target.shape[1] * target.shape[2] * 0.01) end
    return total, weight
  end,
  data = corpus,
}
