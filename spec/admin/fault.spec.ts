// What somebody who asked from outside is told of an error: the same at an admin socket and through an observer.

import { System } from "signalbox";
import { observerHandler } from "signalbox/observer";
import { expect, it, onTestFinished } from "vitest";
import { AdminProtocolError, RemoteOperationError } from "../../lib/admin/errors.js";
import { faultOf } from "../../lib/admin/fault.js";
import { errorLine, serve } from "../../lib/admin/protocol.js";
import { offeredBy } from "../../lib/admin/system/offered.js";
import { post } from "../observer/support.js";

const hostile = new Proxy(new Error("never seen"), {
  get: () => {
    throw new Error("it throws when it is looked at");
  },
});

it.each([
  [
    "an error of ours",
    new AdminProtocolError("no"),
    { name: "AdminProtocolError", code: "ERR_ADMIN_PROTOCOL", message: "no" },
  ],
  [
    "an error of Node",
    Object.assign(new Error("gone"), { code: "ENOENT" }),
    { name: "Error", code: "ENOENT", message: "gone" },
  ],
  [
    "a code that is no text",
    Object.assign(new RangeError("far"), { code: 7 }),
    { name: "RangeError", message: "far" },
  ],
  [
    "what another program answered",
    new RemoteOperationError("no flow", { name: "FlowNotFoundError", code: "ERR_FLOW_NOT_FOUND" }),
    { name: "FlowNotFoundError", code: "ERR_FLOW_NOT_FOUND", message: "no flow" },
  ],
  ["a text", "boom", { name: "Error", message: '"boom"' }],
  ["nothing", undefined, { name: "Error", message: "undefined" }],
])("%s is its name, its code and its message [N1646]", (_what, error, fault) => {
  expect(faultOf(error)).toEqual(fault);
  expect(JSON.parse(errorLine(7, error))).toEqual({ id: 7, error: fault });
});

it("its message is bounded, and what throws at a look is told, too [N1646]", () => {
  expect(faultOf(new Error("x".repeat(1_000_000))).message).toHaveLength(4_000);
  expect(faultOf("x".repeat(1_000_000)).message.length).toBeLessThanOrEqual(4_000);
  expect(faultOf(hostile)).toMatchObject({ name: expect.any(String), message: expect.any(String) });
});

it("it is the same at the admin socket and through an observer [N1646]", async () => {
  const system = new System({ name: "shop", report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const handler = observerHandler(system);
  for (const [op, args] of [
    ["system.process", { id: "shop.999" }],
    ["system.process", { id: 3 }],
    ["system.nothing", {}],
  ] as const) {
    const asked = await handler.fetch(post("/api/ask", { op, args }, handler.token));
    const { error } = (await asked.json()) as { error: unknown };
    const line = JSON.stringify({ v: 1, id: 1, op, args });
    const answer = await serve(offeredBy(system.kernel), line, new AbortController().signal);
    expect(JSON.parse(answer)).toEqual({ id: 1, error });
  }
});
