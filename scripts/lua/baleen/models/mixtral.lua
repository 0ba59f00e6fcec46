--- Mixtral (arXiv 2401.04088): Llama with several mlps, of which a router chooses `num_experts_per_tok` for each token
--- and weighs them by the softmax over the chosen ones. Every expert is computed for every token and those that are
--- not chosen weigh 0, since tokens cannot be sent to experts yet: the same logits, for more work. The loss that
---   balances experts in
--- training (`router_aux_loss_coef`) is not added.
local layer = require "baleen.nn.layer"
local initializer = require "baleen.initializer"
local llama = require "baleen.models.llama"
local map = require "baleen.models.map"
local nn = require "baleen.nn"
local ops = require "baleen.ops"

--- The weight of each expert: its share of the softmax where it is among the `chosen` greatest, else 0; they add up to
---   1.
local function gates_of(logits, chosen)
  local shares = ops.softmax(logits)
  local _, ids = ops.top_k(shares, chosen)
  local kept
  for i = 1, chosen do
    local one = ops.pointwise(function(share, id)
      return ops.select(ops.eq(ops.index(-1), id), share, 0)
    end, shares, ops.slice(ids, ids.rank, i, 1))
    kept = kept and kept + one or one
  end
  return kept / ops.sum(kept, -1, true)
end

local experts = layer.define {
  kind = "experts",
  options = {
    count = { type = "integer", required = true, min = 1 },
    chosen = { type = "integer", required = true, min = 1 },
    hidden = { type = "integer", required = true, min = 1 },
    init = { type = "table", default = initializer.normal(0.02) },
  },
  setup = function(self)
    if self.chosen > self.count then
      self:fail(("%d of %d experts cannot be chosen"):format(self.chosen, self.count))
    end
    self.router = nn.linear { name = "router", out = self.count, bias = false }
  end,
  forward = function(self, x)
    local width = x.shape[3]
    local gates = gates_of(self.router(x), self.chosen)
    local function weight(name, shape, axes, init)
      return self:parameter(name, shape, { axes = axes, init = init, inputs = shape[2] })
    end
    local inward = { self.count, width, self.hidden }
    local up = weight("up", inward, { "", "embed", "ff" }, self.init)
    local gate = weight("gate", inward, { "", "embed", "ff" }, self.init)
    local down = weight("down", { self.count, self.hidden, width }, { "", "ff", "embed" }, layer.residual(self.init))
    local y = ops.silu(ops.matmul("bse,xef->bsxf", x, gate)) * ops.matmul("bse,xef->bsxf", x, up)
    y = y * ops.reshape(gates, { x.shape[1], x.shape[2], self.count, 1 })
    return ops.matmul("bsxf,xfe->bse", y, down)
  end,
}

local function build(config, given)
  return llama.parts.build(config, given, function()
    return experts {
      name = "experts", count = config:count("num_local_experts"), chosen = config:integer("num_experts_per_tok"),
      hidden = config:integer("intermediate_size"),
    }
  end)
end

local function tensors(config, given, add)
  llama.parts.tensors(config, given, add, function(_, put, sizes, ours, theirs)
    local count = config:count("num_local_experts")
    local moe = theirs .. "block_sparse_moe."
    sizes.x = count
    put { ours = ours .. "experts.router.weight", theirs = moe .. "gate.weight", form = "x e -> e x", sizes = sizes }
    for our, their in pairs { gate = "w1", down = "w2", up = "w3" } do
      local names = {}
      for i = 1, count do names[i] = ("%sexperts.%d.%s.weight"):format(moe, i - 1, their) end
      put {
        ours = ours .. "experts." .. our, theirs = names, stack = "x",
        form = our == "down" and "e f -> x f e" or "f e -> x e f", sizes = sizes,
      }
    end
  end)
end

local function unused(head) return head == "none" and { "lm_head.weight" } or {} end

return map {
  name = "mixtral", types = { "mixtral" }, heads = { lm = "MixtralForCausalLM", none = "MixtralModel" },
  default = "lm", prefix = "model.", bare = { "none" }, ignored = { "*.rotary_emb.inv_freq" }, build = build,
  tensors = tensors, unused = unused,
}
