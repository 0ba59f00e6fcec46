--- A folder as Hugging Face's `transformers` writes it: which files hold tensors, and what lies beside them.
local core = require "baleen.core"

local folder = {}

local weights, index_file = "model.safetensors", "model.safetensors.index.json"

--- What is copied to an export from where its config.json comes from.
local companions = {
  "added_tokens.json", "chat_template.jinja", "generation_config.json", "merges.txt", "preprocessor_config.json",
  "special_tokens_map.json", "spiece.model", "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json",
  "vocab.txt",
}

local function check_name(file, tensor, name)
  if type(name) ~= "string" or name:find("/", 1, true) or name:find("\\", 1, true) or name:find("\0", 1, true)
    or name:sub(1, 1) == "." or not name:match("%.safetensors$") then
    core.fail(("`weight_map` says that `%s` is in %s; it must be the name of a .safetensors file in this folder")
      :format(tensor, core.describe(name)), file)
  end
end

--- The files with tensors, by an index, and for each tensor the number of its file.
local function indexed(path, file)
  local index = core.read_json(file)
  local map = type(index) == "table" and index.weight_map
  if type(map) ~= "table" or next(map) == nil then
    core.fail("has no `weight_map` of tensors to files", file)
  end
  local files, numbers, tensors, places = {}, {}, {}, {}
  for tensor, name in pairs(map) do
    if type(tensor) ~= "string" then core.fail("`weight_map` is a list; it must be an object", file) end
    check_name(file, tensor, name)
    if not numbers[name] then
      files[#files + 1] = path .. "/" .. name
      numbers[name] = #files
    end
    tensors[#tensors + 1], places[#places + 1] = tensor, numbers[name]
  end
  return { index = file, files = files, tensors = tensors, places = places }
end

--- The files of a folder: { files, index, tensors, places }; without an index the last two are empty.
function folder.files(path)
  if core.is_file(path .. "/" .. weights) then
    return { index = "", files = { path .. "/" .. weights }, tensors = {}, places = {} }
  end
  if core.is_file(path .. "/" .. index_file) then return indexed(path, path .. "/" .. index_file) end
  local hint = ""
  if core.is_file(path .. "/pytorch_model.bin") or core.is_file(path .. "/pytorch_model.bin.index.json") then
    hint = "; pytorch_model.bin is a pickle file, which is never opened: scripts/to_safetensors.py converts it"
  end
  core.fail("has neither " .. weights .. " nor " .. index_file .. hint, path)
end

--- Which tensors (by number) go to which file, where one holds at most `limit` bytes or one tensor.
local function divided(bytes, limit)
  local groups, total = { {} }, 0
  for i, size in ipairs(bytes) do
    if total > 0 and total + size > limit then
      groups[#groups + 1], total = {}, 0
    end
    table.insert(groups[#groups], i)
    total = total + size
  end
  return groups
end

--- What an export writes: { names, groups, texts, copies }. `config`: the text of config.json and where it comes from.
function folder.plan(tensors, bytes, limit, text, from)
  local groups, names = divided(bytes, limit), {}
  local texts = { "config.json", text }
  if #groups == 1 then
    names[1] = weights
  else
    local map, total = {}, 0
    for number, group in ipairs(groups) do
      names[number] = ("model-%05d-of-%05d.safetensors"):format(number, #groups)
      for _, i in ipairs(group) do
        map[tensors[i]] = names[number]
        total = total + bytes[i]
      end
    end
    texts[3] = index_file
    texts[4] = core.to_json { metadata = { total_size = total }, weight_map = map }
  end
  local copies = {}
  if from and core.is_folder(from) then
    for _, name in ipairs(companions) do
      if core.is_file(from .. "/" .. name) then copies[#copies + 1] = from .. "/" .. name end
    end
  end
  local firsts = {}
  for number, group in ipairs(groups) do firsts[number] = #group end
  return { names = names, counts = firsts, texts = texts, copies = copies }
end

return folder
