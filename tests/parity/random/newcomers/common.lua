-- What the models of this folder share: the arguments that a seed draws, rows of any fields, and the job around them.
local baleen = require "baleen"
local arg, parallel = baleen.arg, baleen.parallel

local common = { batch = arg("batch", 8), accumulate = arg("accumulate", 1) }
local rule, rate, clip, decay = arg("optimizer", "adamw"), arg("rate", "cosine"), arg("clip", 0.0), arg("decay", 0.0)
local frozen, scopes, layouts, every = arg("frozen", ""), arg("scopes", ""), arg("layout", ""), arg("every", 2)

--- Computed rows of these fields, as data.synthetic has them: three batches and a short one.
function common.rows(...)
  return baleen.data.synthetic { fields = { ... }, rows = 3 * common.batch + 1, held_out = common.batch + 2 }
end

function common.tokens(context, vocab)
  return baleen.data.synthetic {
    context = context, vocab = vocab, rows = 3 * common.batch + 1, held_out = common.batch + 2,
  }
end

--- A layer without options whose forward code is `forward`.
function common.layer(name, forward)
  return baleen.nn.layer { kind = name, forward = forward } { name = name }
end

--- x along a dimension, from `first` on so many, without that dimension where it is one.
function common.part(x, dim, i)
  local shape = {}
  for d = 1, x.rank do if d ~= dim then shape[#shape + 1] = x.shape[d] end end
  return baleen.ops.reshape(baleen.ops.slice(x, dim, i, 1), shape)
end

--- Rows of length 1.
function common.unit(x)
  local ops = baleen.ops
  return x * ops.rsqrt(ops.sum(x * x, -1, true) + 1e-6)
end

--- log sum exp along the last dimension, which goes.
function common.log_sum_exp(x)
  local ops = baleen.ops
  local m = ops.amax(x, -1, true)
  return ops.sum(ops.log(ops.sum(ops.exp(x - m), -1, true)) + m, -1)
end

local rates = {
  cosine = baleen.cosine { peak = 1e-2, warmup = 1 }, linear = baleen.linear { peak = 1e-2, warmup = 1 },
  root = baleen.inverse_sqrt { peak = 1e-2, warmup = 2 }, number = 5e-3,
  pieces = baleen.piecewise { points = { { 0, 1e-2 }, { 2, 1e-3 } } },
  written = function(step, steps) return 1e-2 * (1 - step / steps) end,
}

local function optimizer(groups, light)
  local name, momentum = rule:match("^(sgd)_(%a+)$")
  local options, given = { lr = rates[rate], groups = groups or {} }, {}
  if frozen ~= "" then given[1] = { match = frozen, frozen = true } end
  if decay > 0 then
    options.weight_decay = decay
    given[#given + 1] = light and { match = light, weight_decay = 0 }
  end
  table.move(given, 1, #given, #options.groups + 1, options.groups)
  if momentum then options.momentum, options.nesterov = 0.9, momentum == "nesterov" end
  return baleen.optimizer(name or rule, options)
end

--- `scopes`: split:AXIS:DIM or replicate:AXIS, with commas between them, around the whole model; `layout`:
-- NAME:AXIS:DIM,
--- or NAME:AXIS for a whole one.
local function annotate(model)
  for name, axis, dim in layouts:gmatch("([^:,]+):([^:,]+):?([^,]*)") do
    local cut = dim ~= ""
    parallel.layout {
      name = name, axis = axis, placement = cut and "shard" or "replicate", dim = cut and (tonumber(dim) or dim) or nil,
    }
  end
  for kind, axis, dim in scopes:gmatch("(%a+):([^:,]+):?([^,]*)") do
    local inner, around = model, parallel[kind] { axis = axis, dim = dim ~= "" and dim or nil }
    model = function(...) return around(inner, ...) end
  end
  return model
end

--- The job; `groups` are parameter groups of the model's own, `light` patterns of parameters that do not decay.
function common.job(job)
  job.model, job.optimizer, job.groups = annotate(job.model), optimizer(job.groups, job.light), nil
  job.light = nil
  job.batch, job.steps, job.seed = common.batch, 3, 7
  job.gradient_accumulation_steps, job.clip_grad_norm = common.accumulate, clip
  job.evaluate = { every = every, batches = 2 }
  return baleen.job(job)
end

return common
