--[[
Keeps what a process tells of its locks for a while, or returns what all processes tell.

KEYS  1 hash: process -> '<until ms> <since ms> <rank> <text>'
ARGV  to keep:   1 process, 2 for how many ms (0: no longer), 3 rank, 4 text
      to return: 1 how many texts at most
REPLY 'kept', or {how many there are, {process, ms since it was kept, text} each, the highest rank first}
INVARIANT  Touches no lock. A text whose time is up is not returned. It vanishes with the key, or when a process that writes comes
           across it: a look writes nothing.
]]
-- include: clock.lua

local key = KEYS[1]
-- Values in one HMGET, and how many others a process looks at when it writes. So each is looked at before every process has written once.
local at_once, looked_at = 100, 5

local function whole(number)
  return string.format('%.0f', number)
end

-- Calls `each` with what the processes from the first to the last one tell, and `outdated` with the others.
local function walk(processes, first, last, each, outdated)
  for from = first, last, at_once do
    local to = math.min(from + at_once - 1, last)
    local values = redis.call('HMGET', key, unpack(processes, from, to))
    for position = from, to do
      local ends, since, rank, text = string.match(values[position - from + 1] or '', '^(%d+) (%d+) (%d+) (.*)$')
      if not ends or tonumber(ends) <= now_ms then
        outdated(processes[position])
      else
        each(processes[position], math.max(0, now_ms - since), text, tonumber(rank))
      end
    end
  end
end

if #ARGV == 1 then
  local processes, found = redis.call('HKEYS', key), {}
  walk(processes, 1, #processes, function(...)
    found[#found + 1] = {...}
  end, function() end)
  table.sort(found, function(one, other)
    return one[4] > other[4]
  end)
  local reply = {#found}
  for position = 1, math.min(#found, tonumber(ARGV[1])) do
    reply[position + 1] = {unpack(found[position], 1, 3)}
  end
  return reply
end

local lasts = tonumber(ARGV[2])
redis.call('HSET', key, ARGV[1], table.concat({whole(now_ms + lasts), whole(now_ms), ARGV[3], ARGV[4]}, ' '))
if redis.call('PTTL', key) < lasts then
  redis.call('PEXPIRE', key, lasts)
end
local processes = redis.call('HKEYS', key)
local first = now_ms % #processes + 1
walk(processes, first, math.min(first + looked_at - 1, #processes), function() end, function(process)
  redis.call('HDEL', key, process)
end)
return 'kept'
