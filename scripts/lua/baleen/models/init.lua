--- baleen.models: models of the shapes that Hugging Face's `transformers` has, made from a config.json, and their maps.
---   load { config, map, head, vocab_multiple = 1, dropout = 0 }: the model whose parameters `--load FOLDER` reads.
---     config: a folder, a config.json, or a table of its keys; what `--load` names unless given
---     head: what it ends with, by the map's name for it; by the config's architecture unless given
---     vocab_multiple: the vocabulary is padded to a multiple of it
---   build { ... }: the same, for models that `--load` does not fill
---   source: what `--load` names; nil without it
---   tokenizer(): that folder, where it holds a tokenizer; else nil
---   map { ... }: see map.lua
local config = require "baleen.models.config"
local core = require "baleen.core"
local llama = require "baleen.models.llama"
local map = require "baleen.models.map"
local options = require "baleen.options"

local models = { map = map, config = config.open, source = core.load_path }

local tokenizers = { "tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt" }

function models.tokenizer()
  for _, name in ipairs(models.source and tokenizers or {}) do
    if core.is_file(models.source .. "/" .. name) then return models.source end
  end
end

local known = {
  require "baleen.models.bert", require "baleen.models.gpt2", llama.llama, llama.mistral,
  require "baleen.models.mixtral", require "baleen.models.vit",
}

local rules = {
  config = { type = "string|table" },
  map = { type = "table" },
  head = { type = "string" },
  vocab_multiple = { type = "integer", default = 1, min = 1 },
  dropout = { type = "number", default = 0, min = 0, max = 0.99 },
}

--- The map for a config: the given one, else by its `model_type`.
local function map_for(settings, given)
  if given then return map(given) end
  local kind, names = settings:text("model_type"), {}
  for i, one in ipairs(known) do
    if one:fits(settings) then return one end
    names[i] = one.types[1]
  end
  settings:fail("`model_type`: " .. core.unknown_word("kind of model", kind, names)
    .. "; for others give a map of your own (scripts/lua/baleen/models/map.lua says how)")
end

--- What a model is, from its options: map, config, and what `build` and `tensors` are given.
function models.resolve(what, given)
  local chosen = options.check(what, given, rules)
  local source = chosen.config or core.load_path
  if source == nil then core.fail(what .. ": give `config`, or a folder with --load") end
  if not chosen.config and not core.is_folder(source) then
    core.fail(("%s: give `config`: --load names %s, which is no folder with a config.json"):format(what, source))
  end
  local settings = config.open(source)
  local its = map_for(settings, chosen.map)
  chosen.head = its:head(settings, chosen.head)
  return { map = its, config = settings, given = chosen }
end

local function built(what, given)
  local one = models.resolve(what, given)
  if not one.map.build then core.fail(what .. ": the map `" .. one.map.name .. "` has no `build`") end
  one.layer = one.map.build(one.config, one.given)
  return one
end

models.build = core.entry(function(given) return built("models.build", given).layer end)

models.load = core.entry(function(given)
  if models.loaded then
    core.fail("models.load: --load fills one model, made at " .. models.loaded.where
      .. "; make others with models.build")
  end
  models.loaded = built("models.load", given)
  models.loaded.where = core.where()
  return models.loaded.layer
end)

return models
