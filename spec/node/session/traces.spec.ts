// Traces in the frames of sessions: who gets them, and what a frame with a wrong one does.

import { context } from "@opentelemetry/api";
import { type Pid, System } from "signalbox";
import { instrument } from "signalbox/otel";
import { telemetry } from "signalbox/service";
import { afterEach, describe, expect, test } from "vitest";
import { type SessionOptions, Sessions } from "../../../lib/node/session/sessions.js";
import { above, exporter, freshSpans, inSpan, mark, tracer } from "../../otel/support.js";
import { until } from "../../support/until.js";
import { FrameNetwork } from "./frame-network.js";

freshSpans();

interface Node {
  readonly system: System;
  /** The capabilities that it has in common with the other one. */
  readonly common: string[];
  readonly ends: string[];
}

const running: System[] = [];

afterEach(async () => {
  for (const system of running.splice(0)) await system.stop();
});

/** Two systems with sessions, and the pid of a process of the second one as the first one knows it. */
async function two(
  network: FrameNetwork,
  prepare: (system: System) => void = (system) => void instrument(system, { tracer, meter: false }),
  options: SessionOptions = {},
): Promise<{ readonly a: Node; readonly b: Node; readonly far: Pid<unknown>; readonly heard: unknown[] }> {
  const [a, b] = ["a", "b"].map((name): Node => {
    const system = new System({ name, report: false, context: "sender" });
    running.push(system);
    prepare(system);
    const node: Node = { system, common: [], ends: [] };
    system.events.on("nodeUp", ({ capabilities }) => node.common.push(...capabilities));
    system.events.on("nodeDown", ({ reason }) => node.ends.push(reason));
    new Sessions(system, network.carrier(system.node), options);
    return node;
  }) as [Node, Node];
  const heard: unknown[] = [];
  const handle = (_ctx: unknown, message: unknown): void => {
    heard.push(message);
    mark("inside");
  };
  const pid = b.system.spawn<unknown>({ handle }, { label: "echo" });
  const isUp = ({ system }: Node): boolean => system.kernel.remote.sessions()?.[0]?.state === "up";
  network.meet();
  await until(() => isUp(a) && isUp(b));
  return { a, b, far: a.system.pidAt(b.system.address(pid)), heard };
}

/** The bodies of the data that went from one node to another. */
function bodies(network: FrameNetwork, way: string): string[] {
  return network.log
    .filter((line) => line.startsWith(`${way} D `))
    .map((line) => line.split("\n")[1] as string);
}

const TRACED = /^\[\[1[12],"00-[\da-f]{32}-[\da-f]{16}-01",0,\d+,"hello"\]\]$/;
const PLAIN = /^\[\[0,\d+,"hello"\]\]$/;

describe("a trace between two nodes", () => {
  test("goes in the frame of its message, once both have said that they read traces [N1313]", async () => {
    const network = new FrameNetwork();
    const { a, b, far, heard } = await two(network);
    expect([a.common, b.common]).toEqual([["signalbox.traces"], ["signalbox.traces"]]);
    await inSpan("request", () => a.system.send(far, "hello"));
    await until(() => heard.length === 1);
    expect(bodies(network, "a>b")).toEqual([expect.stringMatching(TRACED)]);
    expect(above("inside")).toEqual(["process echo", "request"]);
  });

  test("does not go to a node of an older release, which goes on to work with this one [N1313]", async () => {
    const network = new FrameNetwork();
    // As the hello of a release without traces reads.
    network.rewrite = (from, _to, frame) =>
      from.name === "b" && frame.startsWith("S ") ? frame.replace("signalbox.traces", "") : frame;
    const { a, b, far, heard } = await two(network);
    expect(a.common).toEqual([]);
    const here: unknown[] = [];
    const pid = a.system.spawn<unknown>({ handle: (_ctx, message) => void here.push(message) });
    await inSpan("request", async () => {
      a.system.send(far, "hello");
      b.system.send(b.system.pidAt(a.system.address(pid)), "hello");
    });
    await until(() => heard.length === 1 && here.length === 1);
    expect(bodies(network, "a>b")).toEqual([expect.stringMatching(PLAIN)]);
    expect(above("inside")).toEqual(["process echo"]);
    expect([...a.ends, ...b.ends]).toEqual([]);
  });

  test("that is not readable is dropped, and the session goes on [N1317]", async () => {
    const network = new FrameNetwork();
    const wrong = ["5", "null", "{}", '""', '"00-0-0-01"', JSON.stringify("x".repeat(50_000))];
    let given = "";
    network.rewrite = (_from, _to, frame) => frame.replace(/"00-[^"]*"/, () => given);
    const { a, b, far, heard } = await two(network);
    for (const [i, text] of wrong.entries()) {
      given = text;
      exporter.reset();
      await inSpan("request", () => a.system.send(far, "hello"));
      await until(() => heard.length === i + 1 || a.ends.length + b.ends.length > 0);
      await b.system.idle();
      expect(above("inside")).toEqual(["process echo"]);
    }
    expect([...a.ends, ...b.ends]).toEqual([]);
  });

  test("is in no frame of a system that is not traced [N1314]", async () => {
    for (const prepare of [() => undefined, (system: System) => void telemetry(system)]) {
      const network = new FrameNetwork();
      const { a, far, heard } = await two(network, prepare);
      await inSpan("request", () => a.system.send(far, "hello"));
      await until(() => heard.length === 1);
      expect(bodies(network, "a>b")).toEqual([expect.stringMatching(PLAIN)]);
    }
  });

  test("is left out outside of all spans [N1314]", async () => {
    const network = new FrameNetwork();
    const { a, far, heard } = await two(network);
    context.with(context.active(), () => a.system.send(far, "hello"));
    await until(() => heard.length === 1);
    expect(bodies(network, "a>b")).toEqual([expect.stringMatching(PLAIN)]);
  });

  test("needs a name that no capability of yours may have [N1313]", () => {
    const system = new System({ name: "a", report: false });
    running.push(system);
    const capabilities = ["signalbox.traces"];
    expect(() => new Sessions(system, new FrameNetwork().carrier(system.node), { capabilities })).toThrow(
      expect.objectContaining({ code: "ERR_OPTION", path: "capabilities" }),
    );
  });
});
