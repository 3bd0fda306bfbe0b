// Written by scripts/embed-lua.mjs from scripts/*.lua. Do not edit: run `npm run lua`.
export const scripts = {
  acquire: {
    source: `local record_key, queue_key, waiters_key, register_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local claim, mode, patience = ARGV[1], ARGV[3], tonumber(ARGV[5])
local lease = tonumber(ARGV[2])
local channel_prefix, window, guard = ARGV[6], tonumber(ARGV[7]), ARGV[8]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
if now > tonumber(ARGV[4]) then
return {'late', now}
end
local function write(to, token, expiry, state)
redis.call('SET', record_key, to .. ' ' .. token .. ' ' .. expiry .. ' ' .. state, 'PXAT', expiry)
end
local function grant(to, length, state)
local token = string.format('%.0f', now)
local last = redis.call('SET', register_key, token, 'PX', guard, 'GET')
if last and tonumber(last) >= now then
token = string.format('%.0f', last + 1)
redis.call('SET', register_key, token, 'PX', guard)
end
write(to, token, now_ms + length, state)
return token
end
local record = redis.call('GET', record_key)
if not record and redis.call('EXISTS', queue_key) == 0 then
return {'granted', now, tonumber(grant(claim, lease, 'full')), lease}
end
local function read(text)
local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)$')
if not holder then
error('FOREIGN value on the key of a lock')
end
return holder, token, tonumber(expiry), state
end
local function read_waiter(entry)
local alive_until, lease, standing = string.match(entry, '^(%d+) (%d+) (%l+)$')
return tonumber(alive_until), tonumber(lease), standing
end
local function channel_of(claim)
return channel_prefix .. string.match(claim, '^[^:]+')
end
local function leave_queue(claim)
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
end
local served_token
local function serve(caller)
local place = 0
while true do
local claim = redis.call('ZRANGE', queue_key, place, place)[1]
if not claim then
return nil
end
local alive_until, lease, standing = read_waiter(redis.call('HGET', waiters_key, claim) or '')
if claim == caller then
served_token = tonumber(grant(claim, tonumber(ARGV[2]), 'full'))
leave_queue(claim)
return claim
elseif not alive_until or alive_until < now_ms then
leave_queue(claim)
else
local channel = channel_of(claim)
if standing == 'asked' or (standing == 'heard' and redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0) then
local length = math.min(lease, window)
local ok, token = pcall(grant, claim, length, 'provisional')
if not ok then
return nil
end
redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' deaf')
redis.call('PUBLISH', channel, claim .. ' ' .. token .. ' ' .. string.format('%.0f', now) .. ' ' .. length .. ' ' .. record_key)
return claim
end
if standing ~= 'deaf' then
redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' deaf')
end
place = place + 1
end
end
end
if not record then
if serve(claim) == claim then
return {'granted', now, served_token, lease}
end
record = redis.call('GET', record_key)
if not record then
return {'granted', now, tonumber(grant(claim, lease, 'full')), lease}
end
end
local holder, token, expiry, state = read(record)
if holder == claim then
if state == 'provisional' then
leave_queue(claim)
expiry = now_ms + lease
write(claim, token, expiry, 'full')
end
return {'granted', now, tonumber(token), expiry - now_ms}
end
local rest = expiry - now_ms
if mode == 'try' then
return {'contended', now, rest}
end
local standing = redis.call('PUBSUB', 'NUMSUB', channel_of(claim))[2] > 0 and 'heard' or 'asked'
if not redis.call('ZRANK', queue_key, claim) then
local last = redis.call('ZREVRANGE', queue_key, 0, 0, 'WITHSCORES')[2] or 0
redis.call('ZADD', queue_key, last + 1, claim)
end
redis.call('HSET', waiters_key, claim, (now_ms + patience) .. ' ' .. lease .. ' ' .. standing)
if redis.call('PTTL', queue_key) < patience then
redis.call('PEXPIRE', queue_key, patience)
redis.call('PEXPIRE', waiters_key, patience)
end
return {'queued', now, rest, redis.call('ZRANK', queue_key, claim), standing}`,
    sha1: '4b1427de80be95f18bd97c7c341f3cbe2d2037ea',
  },
  release: {
    source: `local record_key, queue_key, waiters_key, register_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local claim, channel_prefix, window, guard = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local outcome
local record = redis.call('GET', record_key)
if record and string.sub(record, 1, #claim + 1) == claim .. ' ' then
redis.call('DEL', record_key)
outcome = 'released'
if redis.call('EXISTS', queue_key) == 0 then
return outcome
end
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
else
outcome = redis.call('ZREM', queue_key, claim) == 1 and 'cancelled' or 'absent'
redis.call('HDEL', waiters_key, claim)
if record or redis.call('EXISTS', queue_key) == 0 then
return outcome
end
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local function write(to, token, expiry, state)
redis.call('SET', record_key, to .. ' ' .. token .. ' ' .. expiry .. ' ' .. state, 'PXAT', expiry)
end
local function grant(to, length, state)
local token = string.format('%.0f', now)
local last = redis.call('SET', register_key, token, 'PX', guard, 'GET')
if last and tonumber(last) >= now then
token = string.format('%.0f', last + 1)
redis.call('SET', register_key, token, 'PX', guard)
end
write(to, token, now_ms + length, state)
return token
end
local function read(text)
local holder, token, expiry, state = string.match(text, '^(%S+) (%d+) (%d+) (%l+)$')
if not holder then
error('FOREIGN value on the key of a lock')
end
return holder, token, tonumber(expiry), state
end
local function read_waiter(entry)
local alive_until, lease, standing = string.match(entry, '^(%d+) (%d+) (%l+)$')
return tonumber(alive_until), tonumber(lease), standing
end
local function channel_of(claim)
return channel_prefix .. string.match(claim, '^[^:]+')
end
local function leave_queue(claim)
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
end
local served_token
local function serve(caller)
local place = 0
while true do
local claim = redis.call('ZRANGE', queue_key, place, place)[1]
if not claim then
return nil
end
local alive_until, lease, standing = read_waiter(redis.call('HGET', waiters_key, claim) or '')
if claim == caller then
served_token = tonumber(grant(claim, tonumber(ARGV[2]), 'full'))
leave_queue(claim)
return claim
elseif not alive_until or alive_until < now_ms then
leave_queue(claim)
else
local channel = channel_of(claim)
if standing == 'asked' or (standing == 'heard' and redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0) then
local length = math.min(lease, window)
local ok, token = pcall(grant, claim, length, 'provisional')
if not ok then
return nil
end
redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' deaf')
redis.call('PUBLISH', channel, claim .. ' ' .. token .. ' ' .. string.format('%.0f', now) .. ' ' .. length .. ' ' .. record_key)
return claim
end
if standing ~= 'deaf' then
redis.call('HSET', waiters_key, claim, alive_until .. ' ' .. lease .. ' deaf')
end
place = place + 1
end
end
end
serve(nil)
return outcome`,
    sha1: '13ad815cbb730b72922c39ef39429c5daa9c5f70',
  },
  renew: {
    source: `local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local reply = {now}
for hold = 1, #KEYS / 3 do
local record_key, queue_key, waiters_key = KEYS[hold * 3 - 2], KEYS[hold * 3 - 1], KEYS[hold * 3]
local claim, known_token, lease = ARGV[hold * 3 - 2], ARGV[hold * 3 - 1], tonumber(ARGV[hold * 3])
local record = redis.call('GET', record_key)
local holder, token, expiry, state = string.match(record or '', '^(%S+) (%d+) (%d+) (%l+)$')
if holder == claim and token == known_token then
expiry = math.max(tonumber(expiry), now_ms + lease)
if state == 'provisional' then
redis.call('ZREM', queue_key, claim)
redis.call('HDEL', waiters_key, claim)
end
redis.call('SET', record_key, claim .. ' ' .. token .. ' ' .. expiry .. ' full', 'PXAT', expiry)
reply[hold + 1] = expiry - now_ms
else
reply[hold + 1] = 'lost'
end
end
return reply`,
    sha1: 'cd7b5241b7e3da899c96dbb9565ba9c85654987f',
  },
} as const;
