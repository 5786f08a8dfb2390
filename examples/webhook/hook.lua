-- Checks the signature before looking at the body. `crypto.equal` takes the same time wherever the two differ.
local given = req.headers["x-hub-signature-256"] or ""
local wanted = "sha256=" .. crypto.hmac("sha256", secrets.hook, req.body)
if not crypto.equal(given, wanted) then
    log.warning("a webhook with a wrong signature", { hook = req.params.name, from = req.ip })
    abort(401, "the signature does not fit")
end

local event, err = req:json()
if err then
    abort(400, tostring(err))
end
log.info("webhook", { hook = req.params.name, action = event and event.action })
return nil, 202
