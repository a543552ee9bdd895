// One trace over real threads, each of which has an SDK of its own.

import { type Pid, System } from "signalbox";
import { type Threads, threads } from "signalbox/nodes";
import { instrument } from "signalbox/otel";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Seen, Shelf } from "../node/threads/programs/traced.js";
import { workshop } from "../node/threads/support.js";
import { exporter, freshSpans, inSpan, tracer } from "./support.js";

freshSpans();

const shop = workshop("otel-threads", "traced");
const SENDERS = ["sender", "system"] as const;

describe.each(SENDERS)("a trace of a system with the context of the %s", (context) => {
  let system: System;
  let workers: Threads;
  let told: (seen: Seen) => void;
  let keeper: Pid<Seen>;

  beforeEach(async () => {
    system = new System({ name: "main", report: false, context });
    instrument(system, { tracer, meter: false });
    workers = await threads(system, { size: 1, program: shop.program });
    keeper = system.spawn<Seen>({ handle: (_ctx, seen) => told(seen) });
  });
  afterEach(() => system.stop());

  /** What a process of a thread told. */
  const heard = (): Promise<Seen> => new Promise((resolve) => (told = resolve));

  /** The trace of the request, and the span of a name in it. */
  const spanOf = (name: string): Seen => {
    const span = exporter.getFinishedSpans().find((one) => one.name === name);
    return { trace: span?.spanContext().traceId, parent: span?.spanContext().spanId };
  };

  it("goes on in a thread with calls and casts [N1319]", async () => {
    const shelf = Shelf.at(system, (await workers.start("shelf")) as never);
    const looked = await inSpan("request", () => shelf.call.look());
    expect(looked).toEqual(spanOf("shelf/look"));
    expect(looked.trace).toBe(spanOf("request").trace);
    const noted = heard();
    await inSpan("later", () => shelf.cast.note(keeper));
    expect(await noted).toEqual(spanOf("shelf/note"));
    expect((await noted).trace).toBe(spanOf("later").trace);
  });

  it("goes on with a message as the system says, which its threads do as well [N1319]", async () => {
    const echo = await workers.start("echo");
    const seen = heard();
    await inSpan("request", () => system.send(echo, keeper));
    const { trace, parent } = await seen;
    expect(trace).toBeDefined();
    const isOne = context === "sender";
    expect({ trace, parent }).toEqual(isOne ? spanOf("request") : { trace, parent: undefined });
    expect(trace === spanOf("request").trace).toBe(isOne);
  });
});
