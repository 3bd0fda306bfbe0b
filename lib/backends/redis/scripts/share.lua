--[[
Requests a shared lock, or permits, for each of some claims. Grants it when it is available and no live claim is ahead, else puts the claim
into the queue, or rejects it. Safe to send again, as acquire is.

KEYS  1 register, then the records, the queues, the waiters of the claims' names (includes/layout.lua)
ARGV  1 latest server time in µs at which the sender still wants the reply
      2 prefix of the clients' channels
      3 the claims, with a space between two
      4 their terms, with a comma between two (one for all when they are the same): '<lease> <patience> <kind> <permits> <limit>'
          lease     in ms
          patience  ms after which a waiter that did not ask again counts as dead; 0: do not join the queue
          kind      shared | permits
          permits   how many at once; 1 for shared
          limit     how many there are in all; 0 for shared. Applies to all claims of the name from the first request of this claim on.
REPLY {now µs, then for each claim one of
        'granted <token> <lease ms> <token> <1 when others wait, else 0>'
        'contended <ms><holder>', 'queued <ms> <listening | polling><holder>'   as acquire
        'mismatch <exclusive | shared | permits>'                               held in this kind, which does not go with the requested one
        'failed <error>'                                                        nothing was granted to this claim
      } or {now µs, 'late'}
INVARIANT  No reader beside an exclusive holder, no more permits in use than there are when one is granted. No live claim is
           overtaken by a later one. 'late' changed nothing.
]]
local channel_prefix = ARGV[2]
-- include: clock.lua
if now > tonumber(ARGV[1]) then
  return {now, 'late'}
end
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
