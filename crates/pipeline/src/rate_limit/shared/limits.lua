-- Decides and counts a batch of operations on rate limits, by the time of the server.
--
-- KEYS[1] is the epoch of the counts, KEYS[n + 1] the hash of the key that operation n concerns. ARGV: the epoch that the
-- replica knows, a candidate for a new one, the id of the replica, then the operations, each as its letter and arguments.
-- The reply begins with the epoch and its age. If the epoch is not the one that the replica knows, nothing else is done.
--
-- Fields of a hash: `t` is the time at which the bucket of tokens_per_minute is full again (GCRA). The windows m (requests
-- per minute), d (requests per day) and k (tokens per day) consist of the sum <w>u, the oldest and the newest slot <w>o
-- and <w>n, and the amount of each slot <w><number>. A slot leaves the window when its last instant does.
-- <hash>:places has the places for parallel requests that each replica holds, and when it last said so.

local MINUTE, DAY = 60000000, 86400000000
local WIDTH = {m = 100000, d = 144000000, k = 144000000}
local LENGTH = {m = MINUTE, d = DAY, k = DAY}
-- Units that calls use later are counted as used at the end of this time.
local LEASE = 1000000
-- More is leased than a call needs only while this much is free, and at most one part in SHARE of it.
local PLENTY, SHARE = 64, 16
-- Places of a replica that has not confirmed them for this long do not count.
local SILENCE = 10000000

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local replica = ARGV[3]
local at = 4

local function whole(number) return string.format('%.0f', number) end
local function text() at = at + 1 return ARGV[at - 1] end
local function number() return tonumber(text()) end

local stored = redis.call('GET', KEYS[1])
if not stored then
  stored = ARGV[2] .. ' ' .. whole(now)
  redis.call('SET', KEYS[1], stored)
end
local epoch, created = string.match(stored, '^(%S+) (%S+)$')
local out = {tonumber(epoch), now - tonumber(created)}
if epoch ~= ARGV[1] then return out end

-- Sums the slots of a window from `first` to `last`; `visit` returns true to stop.
local function each_slot(key, window, first, last, visit)
  local slot = first
  while slot <= last do
    local fields = {}
    for s = slot, math.min(last, slot + 99) do fields[#fields + 1] = window .. s end
    local amounts = redis.call('HMGET', key, unpack(fields))
    for i = 1, #fields do
      if visit(slot + i - 1, tonumber(amounts[i]) or 0) then return end
    end
    slot = slot + #fields
  end
end

-- Drops the slots that have left a window; returns the sum of the others.
local function used(key, window)
  local head = redis.call('HMGET', key, window .. 'u', window .. 'o', window .. 'n')
  local sum, oldest, newest = tonumber(head[1]) or 0, tonumber(head[2]), tonumber(head[3])
  if not oldest then return 0 end
  local last = math.min(newest, math.floor((now - LENGTH[window]) / WIDTH[window]) - 1)
  if oldest > last then return sum end
  local gone = {}
  each_slot(key, window, oldest, last, function(slot, amount)
    sum = sum - amount
    if amount ~= 0 then gone[#gone + 1] = window .. slot end
    if #gone == 100 then
      redis.call('HDEL', key, unpack(gone))
      gone = {}
    end
  end)
  if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
  redis.call('HSET', key, window .. 'u', whole(sum), window .. 'o', last + 1, window .. 'n', math.max(newest, last + 1))
  return sum
end

local function take(key, window, when, amount)
  local slot = math.floor(when / WIDTH[window])
  local ends = redis.call('HMGET', key, window .. 'o', window .. 'n')
  if not ends[1] or slot < tonumber(ends[1]) then redis.call('HSET', key, window .. 'o', slot) end
  if not ends[2] or slot > tonumber(ends[2]) then redis.call('HSET', key, window .. 'n', slot) end
  redis.call('HINCRBY', key, window .. slot, whole(amount))
  redis.call('HINCRBY', key, window .. 'u', whole(amount))
  return slot
end

local function give_back(key, window, slot, amount)
  amount = math.min(amount, tonumber(redis.call('HGET', key, window .. slot)) or 0)
  if amount <= 0 then return end
  redis.call('HINCRBY', key, window .. slot, -amount)
  redis.call('HINCRBY', key, window .. 'u', -amount)
end

-- The time until an amount has left a window.
local function until_gone(key, window, amount)
  local ends = redis.call('HMGET', key, window .. 'o', window .. 'n')
  if not ends[1] then return 0 end
  local wait = 0
  each_slot(key, window, tonumber(ends[1]), tonumber(ends[2]), function(slot, part)
    amount = amount - part
    if part > 0 then wait = (slot + 1) * WIDTH[window] + LENGTH[window] - now end
    return amount <= 0
  end)
  return wait
end

-- The sum of a window, the time until more is free, and the time until a call is admitted, or 0 if it is.
local function state(key, window, limit, sum)
  if limit < 0 or sum <= 0 then return 0, 0, 0 end
  local more = until_gone(key, window, sum - math.min(sum, limit) + 1)
  if sum < limit then return sum, more, 0 end
  return sum, more, math.max(more, 1)
end

local function extra(want, free)
  if free < PLENTY then return 0 end
  return math.min(want, math.floor(free / SHARE))
end

local function places(key)
  local total, own = 0, 0
  local all = redis.call('HGETALL', key .. ':places')
  for i = 1, #all, 2 do
    local count, confirmed = string.match(all[i + 1], '^(%d+) (%d+)$')
    if now - confirmed > SILENCE then
      redis.call('HDEL', key .. ':places', all[i])
    else
      total = total + count
      if all[i] == replica then own = tonumber(count) end
    end
  end
  return total, own
end

local function set_places(key, count)
  redis.call('HSET', key .. ':places', replica, whole(count) .. ' ' .. whole(now))
  redis.call('PEXPIRE', key .. ':places', 60000)
end

local function add(...)
  for i = 1, select('#', ...) do out[#out + 1] = (select(i, ...)) end
end

local operations = {}

-- A request: limits, units needed (0 to add to a lease), units and places wanted besides.
function operations.R(key)
  local minute, day, parallel = number(), number(), number()
  local units, want, want_places = number(), number(), number()
  local free = 9007199254740991
  local in_minute, in_day, total, own = 0, 0, 0, 0
  if minute >= 0 then in_minute = used(key, 'm') free = math.min(free, minute - in_minute) end
  if day >= 0 then in_day = used(key, 'd') free = math.min(free, day - in_day) end
  if parallel >= 0 then total, own = places(key) end
  local admitted = free >= math.max(units, 1) and (parallel < 0 or total + units <= parallel)
  local more, more_places = 0, 0
  local slots = {-1, -1, -1, -1}
  if admitted then
    if minute >= 0 or day >= 0 then more = extra(want, free - units) end
    for i, window in ipairs({'m', 'd'}) do
      if (i == 1 and minute or day) >= 0 then
        if units > 0 then slots[i] = take(key, window, now, units) end
        if more > 0 then slots[i + 2] = take(key, window, now + LEASE, more) end
      end
    end
    if parallel >= 0 then
      more_places = extra(want_places, parallel - total - units)
      set_places(key, own + units + more_places)
      total = total + units + more_places
    end
    if minute >= 0 then in_minute = in_minute + units + more end
    if day >= 0 then in_day = in_day + units + more end
  end
  add(admitted and 1 or 0, more, more_places, slots[1], slots[2], slots[3], slots[4])
  add(state(key, 'm', minute, in_minute))
  add(state(key, 'd', day, in_day))
  add(total)
end

-- The tokens of a call: limits, the estimate, tokens wanted besides.
function operations.T(key)
  local minute, day, estimate, want = number(), number(), number(), number()
  local full, in_day, admitted, wait, more = now, 0, true, 0, 0
  if minute >= 0 then
    full = math.max(now, tonumber(redis.call('HGET', key, 't')) or 0)
    if full - now >= MINUTE or minute == 0 then
      admitted = false
      wait = math.max(full - now - MINUTE, 0) + 1
    end
  end
  if day >= 0 then
    in_day = used(key, 'k')
    if in_day >= day then admitted = false end
  end
  if admitted and minute > 0 then
    local cost = MINUTE / minute
    full = full + estimate * cost
    more = extra(want, math.floor((now + MINUTE - full) / cost))
    full = full + more * cost
    redis.call('HSET', key, 't', whole(full))
  end
  add(admitted and 1 or 0, more, full, full - now, wait)
  add(state(key, 'k', day, in_day))
end

-- Requests that do not count after all: their slots and their number.
function operations.U(key)
  local minute, day, units = number(), number(), number()
  if minute >= 0 then give_back(key, 'm', minute, units) end
  if day >= 0 then give_back(key, 'd', day, units) end
end

-- The actual tokens of a call: the limit per minute, the difference to the estimate, the end of its charge in the bucket,
-- and the tokens of the day. A credit is at most what is left of the charge.
function operations.C(key)
  local minute, difference, charged, today = number(), number(), number(), number()
  if minute > 0 and difference ~= 0 then
    local full = math.max(now, tonumber(redis.call('HGET', key, 't')) or 0)
    local change = difference * MINUTE / minute
    if change < 0 then change = math.max(change, math.min(0, now - charged)) end
    redis.call('HSET', key, 't', whole(math.max(now, full + change)))
  end
  if today > 0 then
    used(key, 'k')
    take(key, 'k', now, today)
  end
end

-- The places that the replica holds.
function operations.P(key)
  local count = number()
  if count > 0 then set_places(key, count) else redis.call('HDEL', key .. ':places', replica) end
end

-- Places that the replica gives back.
function operations.D(key)
  local count = number()
  local _, own = places(key)
  set_places(key, math.max(0, own - count))
end

-- Amounts of a window that were counted elsewhere: the window, their number, and the age and amount of each.
function operations.S(key)
  local window, count = text(), number()
  used(key, window)
  for _ = 1, count do
    local age, amount = number(), number()
    if age < LENGTH[window] then take(key, window, now - age, amount) end
  end
end

-- Tokens that were counted elsewhere: the limit per minute, their number, and whether they may leave debt. They may not after
-- a long outage, in which each replica has a bucket of its own: then they only empty the one here.
function operations.B(key)
  local minute, tokens, may_leave_debt = number(), number(), number()
  local full = math.max(now, tonumber(redis.call('HGET', key, 't')) or 0)
  local after = full + tokens * MINUTE / minute
  if may_leave_debt == 0 then after = math.min(after, math.max(full, now + MINUTE)) end
  redis.call('HSET', key, 't', whole(after))
end

for n = 2, #KEYS do
  local operation, lifetime = text(), number()
  operations[operation](KEYS[n])
  redis.call('PEXPIRE', KEYS[n], lifetime)
end
return out
