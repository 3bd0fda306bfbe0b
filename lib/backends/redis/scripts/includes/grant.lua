-- include: clock.lua
-- include: version.lua
-- include: register.lua
-- include: layout.lua

local function write(to, token, expiry, state)
  local until_ms = digits(expiry)
  redis.call('SET', record_key, to .. ' ' .. digits(token) .. ' ' .. until_ms .. ' ' .. state .. version, 'PXAT', until_ms)
end

-- Makes a claim the holder; returns its token and the last one reserved for it. What can fail comes first.
local function grant(to, length, state, reserve)
  local token, count = issue(1, 1 + reserve)
  if not token then
    error(count)
  end
  write(to, token, now_ms + length, state)
  return token, token + count - 1
end
