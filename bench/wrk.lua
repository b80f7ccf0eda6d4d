-- Asks for the paths of a file in turns, with the headers of another one, and prints what came of it as JSON.
local requests = {}
local at = 0

function init(args)
  local folder = args[1]
  for line in io.lines(folder .. '/headers') do
    local name, value = line:match('^(.-): (.*)$')
    wrk.headers[name] = value
  end
  for path in io.lines(folder .. '/paths') do
    requests[#requests + 1] = wrk.format('GET', path)
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  local figures = '{"requests":%d,"micros":%d,"bytes":%d,"p50Micros":%d,"p99Micros":%d,"failures":%d}\n'
  io.write(figures:format(summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99), failures))
end
