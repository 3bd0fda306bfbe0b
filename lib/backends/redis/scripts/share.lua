--[[
Asks for what several can hold at once, for each of some claims: a shared lock, or permits. Grants it when it is to be had and nobody alive
is ahead, else lets the claim stand in the queue, or turns it away. Safe to send again, as acquire is.

KEYS  1 register, then the records, the queues, the waiters of the claims' names (includes/layout.lua)
ARGV  1 latest server time in µs at which the sender still wants the answer
      2 prefix of the clients' channels
      3 the claims, with a space between two
      4 their terms, with a comma between two (one for all where they are the same): '<lease> <patience> <kind> <permits> <limit>'
          lease     in ms
          patience  ms after which a waiter that did not ask again counts as dead; 0: do not stand in the queue
          kind      shared | permits
          permits   how many at once; 1 for shared
          limit     how many there are in all; 0 for shared. Counts for all of the name, when the claim begins to ask.
REPLY {now µs, then for each claim one of
        'granted <token> <lease ms> <token> <waiters behind>'
        'contended <ms>', 'queued <ms> <waiters ahead> <heard | asked>'   as acquire; ms: until a lease ends that keeps it out
        'mismatch <exclusive | shared | permits>'                         held in this kind, which does not go with the one asked for
        'failed <error>'                                                  nothing was granted to this claim
      } or {now µs, 'late'}
INVARIANT  No reader beside an exclusive holder, no more permits in use than there are when one is granted. Nobody who is alive and asked
           earlier is overtaken. 'late' changed nothing.
]]
local channel_prefix = ARGV[2]
-- include: clock.lua
-- include: version.lua
if now > tonumber(ARGV[1]) then
  return {now, 'late'}
end
-- include: register.lua
-- include: layout.lua
-- include: grant.lua
-- include: record.lua
-- include: sharer.lua
-- include: sharing.lua
-- include: serve.lua
-- include: ask.lua

local next_terms = string.gmatch(ARGV[4], '(%d+) (%d+)( %l+ %d+ %d+)')
local position, reply = 0, {now}
local lease, patience, demand
for claim in string.gmatch(ARGV[3], '%S+') do
  position = position + 1
  local new_lease, new_patience, new_demand = next_terms()
  if new_lease then
    lease, patience, demand = tonumber(new_lease), tonumber(new_patience), new_demand
  end
  choose(position)
  reply[1 + position] = isolated(ask, claim, lease, 0, patience, demand)
end
return reply
