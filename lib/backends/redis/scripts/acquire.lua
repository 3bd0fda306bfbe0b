--[[
Asks for an exclusive lock for each of some claims: grants it when it is free and nobody alive is ahead, else lets the claim stand in the
queue, or turns it away. The same for any number of names. Safe to send again: a claim that holds gets the same grant, a claim
that waits keeps its place.

KEYS  1 register, then the records, the queues, the waiters of the claims' names (includes/layout.lua)
ARGV  1 latest server time in µs at which the sender still wants the answer
      2 prefix of the clients' channels
      3 how many tokens all claims together need when each is granted: 1 + what it reserves
      4 the claims, with a space between two
      5 their terms, with a comma between two (one for all where they are the same): '<lease> <reserve> <patience>'
          lease     in ms
          reserve   tokens to reserve behind the granted one, for local hand-offs
          patience  ms after which a waiter that did not ask again counts as dead; 0: do not stand in the queue
REPLY {now µs, then for each claim one of
        <token>                                                                       granted as asked for; nobody waits
        'granted <token> <lease ms> <last reserved token> <waiters behind>'
        'contended <rest of the holders' leases in ms>'
        'queued <rest of the holders' leases in ms> <waiters ahead> <heard | asked>'   asked: nobody listens on the claim's channel
        'mismatch permits'                                                            the name is used with permits
        'failed <error>'                                                              nothing was granted to this claim
      } or {now µs, 'late'}
INVARIANT  At most one holder, and none beside readers. Nobody who is alive and asked earlier is overtaken. 'late' changed nothing.
]]
local channel_prefix = ARGV[2]
-- include: clock.lua
-- include: version.lua
if now > tonumber(ARGV[1]) then
  return {now, 'late'}
end
-- include: register.lua

local names, position = (#KEYS - 1) / 3, 0
local next_terms = string.gmatch(ARGV[5], '(%d+) (%d+) (%d+)')
local lease, reserve, patience, expiry
local next_token
local reply, rest = {now}, nil
-- What nobody holds and nobody waits for is granted before anything else is even defined: most calls end here. The register is
-- written once for all of them. Whatever fails, or is not free, is left to the part below.
local free = redis.call('EXISTS', unpack(KEYS, 2, 1 + 2 * names)) == 0
for claim in string.gmatch(ARGV[4], '%S+') do
  position = position + 1
  local new_lease, new_reserve, new_patience = next_terms()
  if new_lease then
    lease, reserve, patience = new_lease, new_reserve, new_patience
    expiry = digits(now_ms + lease)
  end
  local granted
  if free or redis.call('EXISTS', KEYS[1 + position], KEYS[1 + names + position]) == 0 then
    next_token = next_token or issue(ARGV[3])
    if next_token then
      local record = claim .. ' ' .. digits(next_token) .. ' ' .. expiry .. ' full' .. version
      -- NX: the same name may stand in this command twice.
      local written = redis.pcall('SET', KEYS[1 + position], record, 'NX', 'PXAT', expiry)
      granted = written and not written.err
    end
  end
  if granted then
    reply[1 + position] = next_token
    next_token = next_token + 1 + reserve
  else
    rest = rest or {}
    rest[#rest + 1] = {position, claim, tonumber(lease), tonumber(reserve), tonumber(patience), ''}
  end
end
if not rest then
  return reply
end

-- include: layout.lua
-- include: grant.lua
-- include: record.lua
-- include: sharer.lua
-- include: sharing.lua
-- include: serve.lua
-- include: ask.lua

for _, asked in ipairs(rest) do
  choose(asked[1])
  reply[1 + asked[1]] = isolated(ask, unpack(asked, 2))
end
return reply
