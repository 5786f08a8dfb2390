return {
    q = req.query.q,
    page = req.query.page,
    order = req.query.order,
    tags = req.query.tag or json.array {},
    tenant = req.headers.x_tenant,
}
