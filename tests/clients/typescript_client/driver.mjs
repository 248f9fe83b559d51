// The TypeScript SDK's client alone, which knows no tasks: with its default settings, which speak 2025-11-25, and asked
// to negotiate (`modern_...`).
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

import { drive, resultOf } from "../driving.mjs";

const INFO = { name: "client-driver", version: "1" };
const agreed = { action: "accept", content: { agree: true } };

async function connect(url, { modern = false, answer } = {}) {
  const asked = [];
  const client = new Client(INFO, {
    ...(answer ? { capabilities: { elicitation: {} } } : {}),
    ...(modern ? { versionNegotiation: { mode: "auto" } } : {}),
  });
  if (answer) {
    client.setRequestHandler("elicitation/create", async (request) => {
      asked.push(request.params.message);
      return answer;
    });
  }
  const sent = [];
  const recorded = (...request) => {
    const answer = fetch(...request);
    sent.push(answer);
    return answer;
  };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: recorded }));
  return { client, asked, sent };
}

/** As hosts do: list first, so that the client holds results against the tool's outputSchema; then call. */
async function call(url, name, args = {}, options = {}) {
  const { client, asked } = await connect(url, options);
  await client.listTools();
  const result = await client.callTool({ name, arguments: args });
  return { ...resultOf(result), asked, era: client.getProtocolEra() };
}

async function failing(url, name, options) {
  try {
    return await call(url, name, {}, options);
  } catch (error) {
    return { error: { code: error.code, message: error.message, data: error.data } };
  }
}

async function listed(url, options) {
  const { client } = await connect(url, options);
  const { tools } = await client.listTools();
  return {
    tools: tools.map((tool) => tool.name),
    instructions: client.getInstructions() ?? null,
    era: client.getProtocolEra(),
  };
}

/** Somebody reads what came and does what it says, as a model would: the next call is only known from the text. */
function nextCall(text) {
  const [, name, args] = /\bcall `(\w+)` with (\{.*?\})/i.exec(text) ?? [];
  return name && { name, arguments: JSON.parse(args) };
}

/** Call, and go on for as long as what comes says to. Whatever a call takes, its time limit is the client's default. */
async function followed(url, first, options) {
  const { client } = await connect(url, options);
  await client.listTools();
  const calls = [];
  let next = first;
  let result;
  while (next && calls.length < 20) {
    const began = Date.now();
    result = resultOf(await client.callTool(next));
    calls.push({ name: next.name, seconds: (Date.now() - began) / 1000, text: result.text });
    next = nextCall(result.text);
  }
  return { calls, ...result, era: client.getProtocolEra() };
}

async function progress(url, options) {
  const { client } = await connect(url, options);
  const heard = [];
  const result = await client.callTool({ name: "brew", arguments: {} }, { onprogress: (each) => heard.push(each) });
  return { progress: heard.map((each) => [each.progress, each.total ?? null, each.message ?? null]), ...resultOf(result) };
}

/** The person in front of it presses "stop" after three seconds. */
async function stopped(url, options) {
  const { client, sent } = await connect(url, options);
  try {
    return resultOf(await client.callTool({ name: "linger", arguments: {} }, { signal: AbortSignal.timeout(3000) }));
  } catch (error) {
    await client.listTools(); // by then the client has sent what says that it stops,
    await Promise.allSettled(sent); // and here it has arrived: this process may end
    return { stopped: error.message };
  }
}

/** The client holds each result against the tool's outputSchema, and throws away what does not conform. */
async function misreported(url) {
  const { client } = await connect(url);
  await client.listTools();
  const kinds = ["valid", "wrong type", "no JSON", "nothing", "null"];
  const results = kinds.map((kind) => client.callTool({ name: "misreport", arguments: { kind } }));
  const settled = await Promise.allSettled(results);
  const seen = settled.map((each) => (each.value ? resultOf(each.value) : { raised: each.reason.message }));
  return { kinds: Object.fromEntries(kinds.map((kind, index) => [kind, seen[index]])) };
}

const remove = ["remove", { file: "notes.txt" }];
const MODERN = { modern: true };

await drive({
  tools: (url) => listed(url),
  held_result: (url) => call(url, "add", { a: 1, b: 2 }),
  held_tool_error: (url) => call(url, "refuse"),
  held_failure: (url) => failing(url, "broken"),
  held_question: (url) => call(url, ...remove, { answer: agreed }),
  held_declined: (url) => call(url, ...remove, { answer: { action: "decline" } }),
  held_cancel: (url) => stopped(url),
  progress: (url) => progress(url),
  misreported,
  survey: (url) => followed(url, { name: "survey", arguments: { area: "north" } }),
  restart: (url) => followed(url, { name: "steady", arguments: {} }),
  modern_tools: (url) => listed(url, MODERN),
  modern_result: (url) => call(url, "add", { a: 1, b: 2 }, MODERN),
  modern_tool_error: (url) => call(url, "refuse", {}, MODERN),
  modern_failure: (url) => failing(url, "broken", MODERN),
  modern_question: (url) => call(url, ...remove, { ...MODERN, answer: agreed }),
  modern_declined: (url) => call(url, ...remove, { ...MODERN, answer: { action: "decline" } }),
  modern_cancel: (url) => stopped(url, MODERN),
  modern_progress: (url) => progress(url, MODERN),
  modern_restart: (url) => followed(url, { name: "steady", arguments: {} }, MODERN),
});
