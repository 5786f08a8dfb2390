local store = require("store")
local read_note = require("note")

local note = store.by_id[req.params.id]
if not note then
    abort(404, "no such note")
end
if req.method == "DELETE" then
    store.remove(note.id)
    return nil
end
if req.method == "PUT" then
    local new = read_note(req)
    note.text, note.tags = new.text, new.tags
end
return note
