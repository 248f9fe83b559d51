// The tasks package for the TypeScript SDK's client: one session for both kinds of tasks, by what the wire speaks.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";

import { drive, resultOf } from "../driving.mjs";

const INFO = { name: "ext-tasks-driver", version: "1" };
const CAPABILITIES = { elicitation: {} };
const MODERN = "2026-07-28";
const AS_TASK = { task: { preference: "require" } };
const NAMED_BY = { "tools/call": "name", "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId" };

/** The requests that the SDK's own client does not let through: the package asks its host to send them. */
function dispatcher(url) {
  let id = 0;
  return async (request, options = {}) => {
    const { method, params } = request;
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
        "Mcp-Name": params[NAMED_BY[method]],
        ...options.context?.headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: `raw-${++id}`, method, params }),
      signal: options.signal,
    });
    const answer = await answerOf(response);
    return answer.error ? { kind: "error", error: answer.error } : { kind: "result", result: answer.result };
  };
}

async function answerOf(response) {
  const text = await response.text();
  if (!response.headers.get("content-type").startsWith("text/event-stream")) return JSON.parse(text);
  const data = text.split("\n").filter((line) => line.startsWith("data:"));
  return JSON.parse(data.at(-1).slice("data:".length));
}

async function session(url, { era = "modern", onInputRequest } = {}) {
  const negotiation = era === "modern" ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client(INFO, { capabilities: CAPABILITIES, ...negotiation });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const modern = client.getProtocolEra() === "modern";
  const framing = { protocolVersion: MODERN, clientInfo: INFO, clientCapabilities: CAPABILITIES };
  const tasks = createTaskSessionFromClient(client, {
    endpointId: "mcptasks",
    onInputRequest,
    ...(modern ? { rawDispatch: dispatcher(url), v2RequestFraming: framing } : {}),
  });
  return { client, tasks };
}

async function follow(url, name, args = {}, { era, answer } = {}) {
  const asked = [];
  const onInputRequest = async (request) => {
    asked.push(request.params.message);
    return answer;
  };
  const { client, tasks } = await session(url, { era, onInputRequest });
  await client.listTools();
  const execution = await tasks.callTool(name, args, era === "legacy" ? AS_TASK : {});
  return { ...(await settle(execution)), era: client.getProtocolEra(), asked };
}

async function listed(url, era) {
  const { client } = await session(url, { era });
  return { tools: (await client.listTools()).tools.map((tool) => tool.name), era: client.getProtocolEra() };
}

async function cancelled(url, era) {
  const { client, tasks } = await session(url, { era });
  await client.listTools();
  const execution = await tasks.callTool("linger", {}, era === "legacy" ? AS_TASK : {});
  await execution.cancel();
  return settle(execution);
}

async function settle(execution) {
  const { outcome } = await execution.settle();
  const seen = { kind: execution.kind, id: execution.handle?.taskId, status: outcome.status };
  if (outcome.status === "completed") return { ...seen, ...resultOf(outcome.result) };
  if (outcome.status === "failed") return { ...seen, error: { code: outcome.error.code, message: outcome.error.message } };
  return seen;
}

const remove = { file: "notes.txt" };
const agreed = { action: "accept", content: { agree: true } };

const cases = {
  tools: (url) => listed(url),
  result: (url) => follow(url, "add", { a: 1, b: 2 }),
  tool_error: (url) => follow(url, "refuse"),
  failure: (url) => follow(url, "broken"),
  cancel: (url) => cancelled(url),
  question: (url) => follow(url, "remove", remove, { answer: agreed }),
  declined: (url) => follow(url, "remove", remove, { answer: { action: "decline" } }),
  restart: (url) => follow(url, "steady"),
  /** Written down, and taken up by another session, as after a restart of the client. */
  async resume(url) {
    const { tasks } = await session(url);
    const execution = await tasks.callTool("add", { a: 1, b: 2 });
    let reference;
    await execution.handoff((each) => {
      reference = JSON.parse(JSON.stringify(each));
    });
    const later = await session(url);
    return settle(await later.tasks.resumeTask(reference));
  },
  legacy_result: (url) => follow(url, "add", { a: 1, b: 2 }, { era: "legacy" }),
  legacy_tool_error: (url) => follow(url, "refuse", {}, { era: "legacy" }),
  legacy_failure: (url) => follow(url, "broken", {}, { era: "legacy" }),
  legacy_cancel: (url) => cancelled(url, "legacy"),
  legacy_restart: (url) => follow(url, "steady", {}, { era: "legacy" }),
  legacy_tools: (url) => listed(url, "legacy"),
};

await drive(cases);
