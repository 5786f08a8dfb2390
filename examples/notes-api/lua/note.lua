-- Reads a note from the body of a request, or ends the request with what is wrong about it.
return function(req)
    local note, err = req:json()
    if err then
        abort(400, tostring(err))
    end
    if type(note) ~= "table" or type(note.text) ~= "string" or note.text == "" then
        abort(422, "a note needs a text")
    end
    return { text = note.text, tags = note.tags or json.array {} }
end
