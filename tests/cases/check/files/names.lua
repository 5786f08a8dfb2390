local shared = require "files.shared"
return shared.text(requst)
