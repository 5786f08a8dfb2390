-- The notes by id, and their order. A module is loaded once for each persistent runspace.
local store = { by_id = {}, order = {} }

function store.add(note)
    note.id = uuid.v4()
    note.created = time.iso(time.now())
    store.by_id[note.id] = note
    table.insert(store.order, note.id)
    return note
end

function store.remove(id)
    store.by_id[id] = nil
    table.remove(store.order, table.find(store.order, id))
end

-- The newest notes whose text has `words` in it.
function store.list(words, limit)
    local found = json.array {}
    for index = #store.order, 1, -1 do
        local note = store.by_id[store.order[index]]
        if not words or note.text:lower():find(words:lower(), 1, true) then
            table.insert(found, note)
        end
        if #found == limit then
            break
        end
    end
    return found
end

return store
