--- Called by the core: what is read from a folder of another framework, and what is written to one.
local core = require "baleen.core"
local folder = require "baleen.models.folder"
local models = require "baleen.models"

local exchange = {}

--- What the core gives: { path, config, map, head, vocab_multiple }, empty texts where nothing is meant.
local function asked(request)
  local given = { vocab_multiple = request.vocab_multiple > 0 and request.vocab_multiple or nil, map = request.map }
  if request.head ~= "" then given.head = request.head end
  given.config = request.config ~= "" and request.config or request.path
  return models.resolve("the model's files", given)
end

--- For a script's own run: the model that it made with models.load, else by the folder alone.
local function chosen(request)
  local loaded = models.loaded
  if request.script and loaded then return loaded, loaded.layer.path or "" end
  return asked(request), ""
end

--- The rules, and how names are to be taken.
function exchange.rules(request)
  local one, at = chosen(request)
  local its, head = one.map, one.given.head
  local unused, bare = {}, false
  for i, pattern in ipairs(its.unused(head)) do unused[i] = pattern end
  for _, pattern in ipairs(its.ignored) do unused[#unused + 1] = pattern end
  for _, name in ipairs(its.bare) do bare = bare or name == head end
  return {
    map = its.name, head = head, config = one.config.file, rules = its:rules(one.config, one.given, at),
    unused = unused, prefix = its.prefix, bare = bare, earlier = its.earlier_names, later = its.later_names,
    multiple = one.given.vocab_multiple,
  }
end

function exchange.files(path) return folder.files(path) end

--- Whether a folder looks like one of these at all.
function exchange.is_model(path) return core.is_file(path .. "/config.json") end

local names_of_dtypes = { fp32 = "float32", fp64 = "float64", bf16 = "bfloat16", fp16 = "float16" }

--- The files of an export of these tensors.
function exchange.plan(request, tensors, bytes, limit, dtype)
  local config = request.config
  local from = core.is_folder(config) and config or config:match("^(.*)/[^/]*$") or "."
  local file = core.is_folder(config) and config .. "/config.json" or config
  local values, changed = core.read_json(file), {}
  if names_of_dtypes[dtype] then
    local name = values.torch_dtype ~= nil and "torch_dtype" or "dtype"
    changed[name] = names_of_dtypes[dtype]
  end
  return folder.plan(tensors, bytes, limit, core.edit_json(file, changed), from)
end

return exchange
