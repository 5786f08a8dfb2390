local store = require("store")
local read_note = require("note")

local note = store.add(read_note(req))
return note, 201, { location = "/api/v1/notes/" .. note.id }
