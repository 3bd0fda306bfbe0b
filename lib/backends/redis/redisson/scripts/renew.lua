--[[
Extends leases, any number at once.

KEYS  as in includes/lock.lua
ARGV  1 for each hold '<claim> <token> <lease ms> <reserve> <least>', as for scripts/renew.lua of the native format
      2 terms of the locks (includes/lock.lua)
REPLY {now µs, then for each hold 'lost', 'failed <error>', or '<rest of its lease in ms> <last reserved token> <releases that it leaves to others>'}
INVARIANT  Never shortens a lease, never touches the lock of another holder or of another grant of the same claim.
]]
local terms = ARGV[2]
-- include: tokens.lua

local function renew(claim, known_token, lease, reserve, least)
  local keys = redis.pcall('HKEYS', lock_key)
  if keys.err then
    return 'lost'
  end
  local field, token, kept = find(claim)
  if not field or kept or not covers(token, known_token) then
    return 'lost'
  end
  local rest = math.max(redis.call('PTTL', lock_key), lease)
  redis.call('PEXPIRE', lock_key, rest)
  if reserve == 0 and least == 0 then
    return rest .. ' 0 0'
  end
  return rest .. ' ' .. digits(reserve_here(known_token, reserve, least)) .. ' ' .. owed()
end

local reply = {now}
for claim, token, lease, reserve, least in string.gmatch(ARGV[1], '(%S+) (%d+) (%d+) (%d+) (%d+)') do
  choose(#reply)
  reply[#reply + 1] = isolated(renew, claim, tonumber(token), tonumber(lease), tonumber(reserve), tonumber(least))
end
return reply
