-- What the models of this folder share: the arguments that a seed draws, their data, and the job around them.
local baleen = require "baleen"
local arg, nn, parallel = baleen.arg, baleen.nn, baleen.parallel

local settings = {
  batch = arg("batch", 8), accumulate = arg("accumulate", 1), layers = arg("layers", 1), dim = arg("dim", 16),
  heads = arg("heads", 2), context = arg("context", 8), dropout = arg("dropout", 0.0),
}
local hidden, ignored, smoothing = arg("hidden", 0), arg("ignore", -1), arg("smoothing", 0.0)
local clip, rule, groups, frozen = arg("clip", 0.0), arg("optimizer", "adamw"), arg("groups", false), arg("frozen", "")
local layouts, scopes, text = arg("layout", ""), arg("scopes", ""), arg("text", "text.txt")

--- The inner width of a layer; nil: what the layer takes by itself.
settings.hidden = hidden > 0 and hidden or nil

function settings.text()
  return baleen.data.text { path = text, tokenizer = "chars", context = settings.context, held_out = 0.4 }
end

--- Rows of `count` numbers between -1 and 1, and what `label` makes of each; enough of them to hold a batch out.
function settings.table(count, label, task)
  local rows, state = {}, 1
  for i = 1, 3 * settings.batch + 13 do
    local row = {}
    for k = 1, count do
      state = state * 16807 % 2147483647
      row[k] = state / 1073741823.5 - 1
    end
    row[count + 1] = label(row, i)
    rows[i] = row
  end
  return baleen.data.table { rows = rows, held_out = 0.45, task = task }
end

function settings.loss()
  return nn.cross_entropy { ignore_index = ignored >= 0 and ignored or nil, smoothing = smoothing }
end

local function optimizer()
  local options = { lr = baleen.cosine { peak = 1e-2, warmup = 1 }, groups = {} }
  if frozen ~= "" then table.insert(options.groups, { match = frozen, frozen = true }) end
  if groups then table.insert(options.groups, { match = { "*.bias", "*.gamma" }, lr = 3e-3 }) end
  local name, momentum = rule:match("^(sgd)_(%a+)$")
  if momentum then options.momentum, options.nesterov = 0.9, momentum == "nesterov" end
  return baleen.optimizer(name or rule, options)
end

--- Each of `layouts` is NAME:AXIS:DIM or NAME:AXIS for a whole one, `scopes` split:AXIS:DIM or replicate:AXIS; commas
--- between them. Scopes stand around the whole model.
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

function settings.job(job)
  job.model = annotate(job.model)
  job.batch, job.steps, job.seed = settings.batch, 3, 7
  job.gradient_accumulation_steps, job.clip_grad_norm = settings.accumulate, clip
  job.optimizer, job.evaluate = optimizer(), { every = 2, batches = 2 }
  return baleen.job(job)
end

return settings
