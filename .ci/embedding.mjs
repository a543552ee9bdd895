// The observer in servers of users: the programs of the guide, word by word, with the newest Hono, Express and Fastify, and with what their users
// put before it.

import { spawn } from "node:child_process";
import { once as emitted } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { once, project, root } from "./support.mjs";

const PACKAGES = [
  "hono",
  "@hono/node-server",
  "express@5",
  "compression",
  "fastify@5",
  "@fastify/compress",
  "srvx",
];
const FRAMEWORKS = ["hono", "express", "fastify"];
/** No program runs as long. */
const LIMIT_MS = 60_000;
/** More than an observer has room for at a time. */
const COMERS = 40;

/** Puts off the time after which a program of the guide breaks all connections off. */
const PATIENT = [["5_000", "600_000"]];
/** By framework: what makes it compress its responses, and what reads bodies before the observer; both as changes of its program. */
const COMPRESSED = {
  hono: [["new Hono();\n", 'new Hono();\napp.use((await import("hono/compress")).compress());\n']],
  express: [["= express();\n", '= express();\napp.use((await import("compression")).default());\n']],
  fastify: [
    ["= Fastify();\n", '= Fastify();\nawait app.register((await import("@fastify/compress")).default);\n'],
  ],
};
const PARSED = {
  hono: [["new Hono();\n", "new Hono();\napp.use((c, next) => c.req.raw.text().then(next));\n"]],
  express: [["= express();\n", "= express();\napp.use(express.json());\n"]],
  fastify: [
    ["  ops.removeAllContentTypeParsers();\n", ""],
    [/ {2}ops\.addContentTypeParser.*\n/, ""],
  ],
};

/** The programs of the guide, by the names of their files. */
function programs() {
  const guide = readFileSync(join(root, "docs/guide/observer.md"), "utf8");
  return new Map(
    [...guide.matchAll(/^```js\n(\/\/ (\w+)\.js\n[\s\S]*?)^```$/gm)].map(([, code, name]) => [name, code]),
  );
}

const installed = once(() => project("embedding", ...PACKAGES));

async function freePort() {
  const server = createServer().listen(0);
  await emitted(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

function expectEqual(what, found, wanted) {
  if (JSON.stringify(found) === JSON.stringify(wanted)) return;
  throw new Error(`${what}: got ${JSON.stringify(found)}, and not ${JSON.stringify(wanted)}`);
}

/** A program of the guide that runs. @param changes - texts of it, and what stands there instead */
async function started(name, changes = []) {
  const cwd = await installed();
  let code = programs().get(name);
  if (code === undefined) throw new Error(`the guide has no program ${name}.js`);
  for (const [text, other] of changes) {
    const changed = code.replace(text, other);
    if (changed === code) throw new Error(`${name}.js has no ${text}`);
    code = changed;
  }
  const port = await freePort();
  const file = join(cwd, `${name}-${port}.js`);
  writeFileSync(file, code);
  const program = spawn(process.execPath, [file], {
    cwd,
    env: { ...process.env, PORT: String(port) },
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  const ended = emitted(program, "close");
  let said = "";
  program.stderr.on("data", (text) => {
    said += text;
  });
  const first = await Promise.race([emitted(program.stdout, "data"), ended.then(() => undefined)]);
  const [, base, token] = /^(http:\/\/localhost:\d+\/ops)\/#token=(\S+)\n$/.exec(String(first)) ?? [];
  if (base === undefined) throw new Error(`${name}.js printed ${first}\n${said}`);
  return { base, token, program, ended, said: () => said };
}

/** Runs a program, and ends it whatever happens. */
async function within(name, changes, look) {
  const running = await started(name, changes);
  try {
    await look(running);
  } catch (error) {
    throw new Error(`${name}: ${error.message}\n${running.said()}`);
  } finally {
    running.program.kill("SIGKILL");
    await running.ended;
  }
}

function post({ base, token }, path, body, more = {}) {
  const headers = {
    "content-type": "application/json",
    authorization: `Bearer ${token}`,
    // As browsers do.
    "accept-encoding": "gzip, deflate, br",
    origin: new URL(base).origin,
    ...more.headers,
  };
  return fetch(`${base}/api/${path}`, { method: "POST", ...more, headers, body: JSON.stringify(body) });
}

/** Status and code of a refused request. */
async function refusal(response) {
  const { error } = await response.json();
  return [response.status, error.code];
}

/** The status of a request with this Host header. */
function statusFor(url, host) {
  return new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => resolve(response.resume().statusCode))
      .on("error", reject)
      .end();
  });
}

const OVERVIEW = { views: [{ key: "now", op: "system.overview", hz: 4 }] };

/** A live view: `read` gives the types of its events until there is one of `type`, or until it ends. */
async function feed(running) {
  const abort = new AbortController();
  const response = await post(running, "feed", OVERVIEW, { signal: abort.signal });
  if (!response.ok) return { status: response.status, leave: () => abort.abort() };
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const read = async (type) => {
    const types = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return types;
      const text = decoder.decode(value, { stream: true });
      types.push(...[...text.matchAll(/^event: (\w+)$/gm)].map(([, one]) => one));
      if (types.includes(type)) return types;
    }
  };
  return { status: response.status, read, leave: () => abort.abort() };
}

/** A live view goes on as differences, and makes room when its client goes. */
async function streams(running) {
  for (let i = 0; i < COMERS; i++) {
    const live = await feed(running);
    // Those before have gone, and the server notices that in a moment.
    if (live.status === 503) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      i--;
      continue;
    }
    expectEqual("the first event of a live view", (await live.read("whole"))[0], "whole");
    if (i === 0) expectEqual("an event after it", (await live.read("change")).at(-1), "change");
    live.leave();
  }
}

async function answers(running) {
  const { base, token } = running;
  const page = await fetch(`${base}/`);
  expectEqual("the page", [page.status, (await page.text()).slice(0, 15)], [200, "<!doctype html>"]);
  const bare = await fetch(base, { redirect: "manual" });
  expectEqual("the path without a slash", [bare.status, bare.headers.get("location")], [308, "./ops/"]);
  expectEqual("the script of the page", (await fetch(`${base}/app.js`)).status, 200);
  expectEqual("a foreign host", await statusFor(`${base}/`, "evil.example"), 403);
  expectEqual("a host of the list", await statusFor(`${base}/`, "shop.example.com"), 200);
  const nobody = await post(running, "hello", {}, { headers: { authorization: "" } });
  expectEqual("no token", await refusal(nobody), [401, "ERR_OBSERVER_REFUSED"]);
  const hello = await (await post(running, "hello", {})).json();
  expectEqual("hello", [hello.name, hello.actions], ["shop", false]);
  const { ok } = await (await post(running, "ask", { op: "system.processes", args: { limit: 10 } })).json();
  expectEqual("an operation", Array.isArray(ok.items), true);
  const change = { op: "system.suspend", args: { id: ok.items[0].pid } };
  expectEqual("a change", await refusal(await post(running, "ask", change)), [403, "ERR_OBSERVER_READ_ONLY"]);
  const long = await post(running, "ask", { op: "x".repeat(70_000) });
  expectEqual("a long body", await refusal(long), [413, "ERR_OBSERVER_REFUSED"]);
  if (token.length < 16) throw new Error(`the token is ${token}`);
}

/** At a signal the live view ends, and then the program, although its client would stay. */
async function stops(running) {
  const live = await feed(running);
  await live.read("whole");
  running.program.kill("SIGTERM");
  await live.read("none");
  expectEqual("the end of the program", await running.ended, [0, null]);
}

/** What a server has read before leaves nothing, and the error says how to mount the observer. */
async function complains(running) {
  const response = await post(running, "hello", {});
  const { error } = await response.json();
  expectEqual("a body that was read", [response.status, error.code], [400, "ERR_OBSERVER_REQUEST"]);
  if (!/mount the observer before/.test(error.message)) throw new Error(error.message);
}

const checkOf = (name) => async () => {
  await within(name, [], async (running) => {
    await answers(running);
    await streams(running);
    await stops(running);
  });
  await within(name, PATIENT, stops);
  await within(name, COMPRESSED[name], async (running) => {
    await answers(running);
    await streams(running);
  });
  await within(name, PARSED[name], complains);
};

export const checks = Object.fromEntries(
  FRAMEWORKS.map((name) => [`the observer below a path of ${name}, as the guide mounts it`, checkOf(name)]),
);
