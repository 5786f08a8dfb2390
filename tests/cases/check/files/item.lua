return { id = req.params.id }
