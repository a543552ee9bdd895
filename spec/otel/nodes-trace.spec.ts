// One trace over several nodes, in a simulation: its systems talk by the sessions of production.

import {
  ConsumerGroup,
  type Context,
  consumer,
  defineServer,
  type Pid,
  type ReplyTo,
  type ServerDefinition,
  type System,
} from "signalbox";
import { joinCluster } from "signalbox/nodes";
import { instrument } from "signalbox/otel";
import { type TelemetryOptions, telemetry } from "signalbox/service";
import { explore, type Simulation } from "signalbox/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { SignalCodec, TRACES } from "../../lib/node/codec/signal-codec.js";
import { Wire } from "../support/wire.js";
import { above, exporter, freshSpans, inSpan, mark, tracer, traces } from "./support.js";

freshSpans();

interface Two {
  readonly here: System;
  readonly there: System;
  readonly sim: Simulation;
}

interface Setup {
  readonly context?: "sender" | "system";
  readonly sessions?: boolean;
  readonly options?: TelemetryOptions;
  readonly traced?: readonly ("here" | "there")[];
}

/** Runs once, with two systems on a network that are traced. */
async function between(setup: Setup, scenario: (two: Two) => Promise<void>): Promise<void> {
  const { context = "sender", sessions = true, options, traced = ["here", "there"] } = setup;
  await explore(
    async (sim) => {
      const network = sim.network({ sessions });
      const [here, there] = (["here", "there"] as const).map((name) => {
        const system = network.join(sim.system({ name, context }));
        if (options !== undefined) telemetry(system, options);
        if (traced.includes(name)) instrument(system, { tracer, meter: false });
        return system;
      }) as [System, System];
      // The session begins with the first signal.
      const first = there.spawn({ handle: () => undefined });
      here.send(here.pidAt(there.address(first)), "hello");
      await sim.quiet();
      await scenario({ here, there, sim });
      await sim.quiet();
    },
    { schedules: 1 },
  );
}

const Shelf: ServerDefinition<[], { look: () => void }, { note: () => void }> = defineServer({
  label: "shelf",
  init: () => undefined,
  calls: { look: () => mark("inside") },
  casts: { note: () => mark("inside") },
});

/** The pid of one system as the other one knows it. */
const seenFrom = ({ here, there }: Two, pid: Pid<never>): Pid<unknown> => here.pidAt(there.address(pid));

type Act = (two: Two) => Promise<() => unknown>;

const call: Act = async (two) => {
  const shelf = await two.there.start(Shelf);
  const far = Shelf.at(two.here, seenFrom(two, shelf.pid) as never);
  return () => far.call.look();
};
const cast: Act = async (two) => {
  const shelf = await two.there.start(Shelf);
  const far = Shelf.at(two.here, seenFrom(two, shelf.pid) as never);
  return () => far.cast.note();
};
const message: Act = async (two) => {
  const pid = two.there.spawn<string>({ handle: () => mark("inside") }, { label: "echo" });
  return () => two.here.send(seenFrom(two, pid), "hello");
};
const plainCall: Act = async (two) => {
  const handle = (ctx: Context<ReplyTo<number>>, replyTo: ReplyTo<number>): void => {
    mark("inside");
    ctx.reply(replyTo, 1);
  };
  const pid = two.there.spawn<ReplyTo<number>>({ handle }, { label: "echo" });
  const far = seenFrom(two, pid);
  return () => two.here.call(far, (replyTo: ReplyTo<number>) => replyTo);
};

/** What is between the code inside of the handler there and the span of the sender here. */
const WITH_SENDER: Record<string, readonly [Act, readonly string[]]> = {
  "a call": [call, ["shelf/look", "process/look"]],
  "a call of a plain process": [plainCall, ["process echo", "process/call"]],
  "a cast": [cast, ["shelf/note", "process/note"]],
  "a message": [message, ["process echo"]],
};

describe("one trace over two nodes", () => {
  it.each(Object.entries(WITH_SENDER))("holds %s [N1310]", async (_kind, [prepare, path]) => {
    for (const sessions of [true, false]) {
      exporter.reset();
      await between({ sessions }, async (two) => {
        const act = await prepare(two);
        await two.sim.quiet();
        exporter.reset();
        await inSpan("request", act);
      });
      expect(above("inside")).toEqual([...path, "request"]);
      expect(traces()).toBe(1);
    }
  });

  it.each(Object.entries(WITH_SENDER).filter(([kind]) => kind !== "a message"))(
    "holds %s without contexts of senders, as within one node [N1310]",
    async (_kind, [prepare, path]) => {
      await between({ context: "system" }, async (two) => {
        const act = await prepare(two);
        await two.sim.quiet();
        exporter.reset();
        await inSpan("request", act);
      });
      // The work of the handler is in its span, which is below the call's.
      expect(above("inside")).toEqual([...path, "request"]);
    },
  );

  it("does not hold a plain message without contexts of senders, as within one node [N1310]", async () => {
    await between({ context: "system" }, async (two) => {
      const act = await message(two);
      await two.sim.quiet();
      exporter.reset();
      await inSpan("request", act);
    });
    expect(above("inside")).toEqual(["process echo"]);
  });

  it("goes on through a node that handles one message by sending the next [N1310]", async () => {
    await between({}, async (two) => {
      const { here, there, sim } = two;
      const home = here.spawn<string>({ handle: () => mark("inside") }, { label: "home" });
      const back = there.pidAt(here.address(home));
      const relay = there.spawn<string>({ handle: (ctx) => ctx.send(back, "back") }, { label: "relay" });
      const far = seenFrom(two, relay);
      await sim.quiet();
      exporter.reset();
      await inSpan("request", () => here.send(far, "there"));
    });
    expect(above("inside")).toEqual(["process home", "process relay", "request"]);
    expect(traces()).toBe(1);
  });

  it("has no span for a call that was not sampled, and goes on below its caller's [N1310]", async () => {
    await between({ options: { oneIn: { call: 0, cast: 0 } } }, async (two) => {
      for (const prepare of [call, cast]) {
        const act = await prepare(two);
        await two.sim.quiet();
        exporter.reset();
        await inSpan("request", act);
        await two.sim.quiet();
        expect(above("inside")).toEqual(["request"]);
        expect(exporter.getFinishedSpans()).toHaveLength(2);
      }
    });
  });

  it("begins anew where the sender is not traced, and ends where the receiver is not [N1310]", async () => {
    await between({ traced: ["there"] }, async (two) => {
      for (const [prepare, path] of [
        [call, ["shelf/look"]],
        [cast, ["shelf/note"]],
        [message, ["process echo"]],
      ] as const) {
        const act = await prepare(two);
        await two.sim.quiet();
        exporter.reset();
        await inSpan("request", act);
        await two.sim.quiet();
        expect(above("inside")).toEqual(path);
      }
    });
    await between({ traced: ["here"] }, async (two) => {
      const act = await call(two);
      await two.sim.quiet();
      exporter.reset();
      await inSpan("request", act);
      expect(exporter.getFinishedSpans().map(({ name }) => name)).toContain("process/look");
    });
  });
});

describe("a dispatch to a consumer of another node", () => {
  for (const context of ["sender", "system"] as const)
    it(`is one trace with what the consumer does, with the context of the ${context} [N1311]`, async () => {
      await explore(
        async (sim) => {
          const network = sim.network();
          const [a, b] = await Promise.all(
            ["a", "b"].map((name) =>
              sim
                .node(name, (machine) => {
                  const system = machine.system({ context });
                  instrument(system, { tracer, meter: false });
                  return joinCluster(system, network);
                })
                .ready(),
            ),
          );
          if (a === undefined || b === undefined) throw new Error("no nodes");
          const near = new ConsumerGroup<number, number>({ name: "pickers", scope: a });
          const far = new ConsumerGroup<number, number>({ name: "pickers", scope: b });
          const pick = (n: number): number => {
            mark("inside");
            return 2 * n;
          };
          far.join(b.system.spawn(consumer(pick), { label: "picker" }), { id: "far" });
          await sim.until("the consumer to be known", () => near.consumers.length === 1);
          await sim.quiet();
          exporter.reset();
          const { reply } = await inSpan("request", () => a.system.dispatch(near, 21));
          expect(reply).toBe(42);
          await sim.quiet();
          // The near dispatch, and the one that the consumer's node makes of it.
          const dispatch = ["attempt pickers", "dispatch pickers"];
          expect(above("inside")).toEqual(["process pickers", ...dispatch, ...dispatch, "request"]);
          expect(traces()).toBe(1);
          // Messages between the groups of the two nodes have no spans.
          const names = exporter.getFinishedSpans().map(({ name }) => name);
          expect([...new Set(names)].sort()).toEqual(
            ["inside", "process pickers", ...dispatch, "request"].sort(),
          );
        },
        { schedules: 1 },
      );
    });
});

describe("a trace of another node that is not readable", () => {
  const ZEROS = `00-${"0".repeat(32)}-${"0".repeat(16)}-01`;
  const VALID = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const HOSTILE: readonly unknown[] = [
    ...[null, 5, true, [], {}, { length: 3 }, "", " ", "00", "x".repeat(100_000), ZEROS],
    ...[
      `ff${VALID.slice(2)}`,
      VALID.toUpperCase(),
      `${VALID}${"0".repeat(2_000)}`,
      `00-${"é".repeat(32)}-1-1`,
    ],
    ...[`\u0000${VALID}`, `${VALID.slice(0, -3)}`, "__proto__", "00-%s-%s-01"],
  ];
  let wire: Wire;
  let heard: unknown[];

  beforeEach(() => {
    wire = new Wire();
    heard = [];
  });

  it.each(HOSTILE.map((one) => [JSON.stringify(one).slice(0, 40), one]))(
    "is dropped, and what came with it is handled: %s [N1312]",
    async (_shown, trace) => {
      const here = wire.join("here");
      const there = wire.join("there");
      instrument(there, { tracer, meter: false });
      const echo = {
        handle: (_ctx: unknown, message: unknown) => {
          heard.push(message);
          mark("inside");
        },
      };
      const pid = there.spawn<unknown>(echo, { label: "echo" });
      const codec = new SignalCodec(there.kernel, here.node);
      const { id } = there.address(pid);
      for (const kind of [11, 12])
        for (const rest of [`0,${id},"hello"`, `8,null,${id},${kind},"hello"`]) {
          exporter.reset();
          there.deliver(codec.decode(`[${kind},${JSON.stringify(trace)},${rest}]`));
          // A transport of one's own may pass anything.
          there.deliver({
            ...codec.decode(`[${rest}]`),
            trace: { text: trace, isOwn: kind === 11 },
          } as never);
          await there.idle();
          expect(above("inside").filter((name) => name !== "process echo")).toEqual([]);
        }
      expect(heard).toEqual(Array(8).fill("hello"));
      await there.stop();
      await here.stop();
    },
  );

  it("is refused as a part of a signal that has none, as any damaged frame [N1312]", () => {
    const here = wire.join("here");
    const there = wire.join("there");
    const codec = new SignalCodec(there.kernel, here.node);
    for (const text of [
      `[11,"${VALID}"]`,
      `[11,"${VALID}",1,2,3]`,
      `[11,"${VALID}",11,"${VALID}",0,1,"x"]`,
      "[12]",
    ])
      expect(() => codec.decode(text)).toThrow(expect.objectContaining({ code: "ERR_NODE_FRAME" }));
  });

  it("goes to no node that has not said that it reads traces [N1318]", () => {
    const here = wire.join("here");
    const there = wire.join("there");
    const pid = there.spawn<string>({ handle: () => undefined });
    const codec = new SignalCodec(here.kernel, there.node);
    const signal = {
      ...({ type: "message", to: there.address(pid), message: "hello" } as const),
      trace: { text: VALID, isOwn: true },
    };
    const plain = codec.encode(signal);
    expect(plain).not.toContain(VALID);
    codec.agreed([TRACES]);
    expect(codec.encode(signal)).toContain(VALID);
    expect(codec.encode({ ...signal, trace: { text: "x".repeat(2_000), isOwn: true } })).toBe(plain);
    codec.agreed([]);
    expect(codec.encode(signal)).toBe(plain);
  });
});
