local store = require("store")

return { notes = store.list(req.query.q, req.query.limit) }
