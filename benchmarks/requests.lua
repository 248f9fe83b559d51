-- Sends the raw HTTP requests of a file, one after the other, for ever. They are separated by NUL bytes.
-- Each thread begins elsewhere, so that not all ask for the same thing at once.

local requests, at = {}, 0
local threads = 0

function setup(thread)
  thread:set("offset", threads * 7919)
  threads = threads + 1
end

function init(args)
  local file = assert(io.open(args[1], "rb"))
  for request in file:read("*a"):gmatch("[^%z]+") do
    requests[#requests + 1] = request
  end
  file:close()
  at = offset
end

function request()
  at = at + 1
  return requests[at % #requests + 1]
end

function done(summary, latency, requests)
  io.write(string.format(
    '\n{"requests": %d, "seconds": %.6f, "p50_ms": %.3f, "p99_ms": %.3f, "failed": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
      + summary.errors.status))
end
