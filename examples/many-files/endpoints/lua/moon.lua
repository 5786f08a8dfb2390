return { moon = req.params.name }
