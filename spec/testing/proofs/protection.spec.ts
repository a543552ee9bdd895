// Breakers and limiters that are processes, under any schedule: a crash of the protection is no failure of the protected.

import { type Context, fairMailbox, type Pid, ProcessExitedError, supervisor } from "signalbox";
import { CircuitOpenError, circuitBreaker, RateLimitError, rateLimiter } from "signalbox/service";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { explored } from "../../support/proof.js";

const PROBES = 2;
const Bank = circuitBreaker({
  label: "bank",
  minimumCalls: 2,
  windowCalls: 4,
  backoff: { minMs: 50, maxMs: 50, jitter: 0 },
  probes: PROBES,
  timeoutMs: 200,
});

/** How long a call waits for the answer of its breaker: the default of calls. */
const ANSWER_MS = 5_000;

/** Clients of one service that fails now and then, behind a breaker that crashes now and then. */
async function bank(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  let state = "closed";
  let underWay = 0;
  let crashed = false;
  system.events.on("breaker", ({ to }) => {
    state = to;
    underWay = 0;
    sim.sometimes(`the breaker is ${to}`);
  });
  system.events.on("exit", ({ pid, reason }) => {
    crashed ||= pid.label === "bank" && reason.type !== "shutdown";
  });
  const Root = supervisor({
    intensity: Number.POSITIVE_INFINITY,
    children: [{ id: "bank", name: "bank", start: Bank }],
  });
  sim.calm();
  await system.start(Root);
  sim.storm();
  const broken = new Error("the bank is closed");
  const call = Bank.at(
    system,
    "bank",
  )(async (_attempt, fails: boolean, began: number) => {
    // A breaker that does not answer in time is as good as none.
    const guarded = sim.now - began < ANSWER_MS;
    if (guarded && state === "half-open") underWay++;
    sim.sometimes("a call passes without a breaker", system.whereis("bank") === undefined);
    // Without a breaker calls pass, and a new one is closed.
    if (guarded && !crashed) expect(underWay).toBeLessThanOrEqual(PROBES);
    await sim.sleep(sim.oneOf([0, 10, 60], "takes"));
    if (fails) throw broken;
    return "done";
  });
  const ends: Promise<void>[] = [];
  for (let i = 0; i < 8; i++) {
    const fails = sim.choose(2, "fails") === 1;
    const end = call(fails, sim.now).then(
      (value) => expect([value, fails]).toEqual(["done", false]),
      (error: unknown) => {
        if (error === broken) expect(fails).toBe(true);
        else expect(error).toBeInstanceOf(CircuitOpenError);
      },
    );
    ends.push(end);
    await sim.sleep(sim.oneOf([0, 20, 100], "wait"));
  }
  await Promise.all(ends);
  sim.sometimes("the breaker crashed", crashed);
}

const PER_MS = 100;
const BURST = 2;
const Mail = rateLimiter({ permits: 1, perMs: PER_MS, burst: BURST, maxWaiting: 3, timeoutMs: 1_000 });

/** Senders that crash or give up while they wait for permits of one limiter. */
async function mail(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const granted: number[] = [];
  let waiting = 0;
  sim.calm();
  const limit = await system.start(Mail);
  sim.storm();
  const sender = (label: string): Pid<"send"> =>
    system.spawn<"send">(
      {
        handle: async (ctx: Context<"send">) => {
          waiting++;
          try {
            await limit(() => granted.push(ctx.now())).with({ from: ctx })();
          } catch (error) {
            sim.sometimes("a sender exits while it waits", error instanceof ProcessExitedError);
            if (!(error instanceof ProcessExitedError)) expect(error).toBeInstanceOf(RateLimitError);
          } finally {
            waiting--;
          }
        },
      },
      { label },
    );
  const senders = [sender("a"), sender("b"), sender("c")] as const;
  for (let i = 0; i < 8; i++) {
    system.send(sim.oneOf(senders, "who"), "send");
    await sim.sleep(sim.oneOf([0, 30, 150], "wait"));
    // As many as the bucket has gained since, and the burst: in every stretch of time.
    for (let from = 0; from < granted.length; from++) {
      const gained = ((granted.at(-1) as number) - (granted[from] as number)) / PER_MS;
      expect(granted.length - from).toBeLessThanOrEqual(Math.floor(gained) + BURST);
    }
  }
  sim.calm();
  await sim.sleep(5_000);
  expect(waiting).toBe(0);
  // Nobody that has gone holds a place.
  expect(await limit.status()).toMatchObject({ waiting: 0 });
  const began = sim.now;
  await limit.acquire();
  expect(sim.now - began).toBe(0);
}

/** A flood and three visitors at a desk that takes its time, and crashes of those that send. */
async function desk(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const taken: string[] = [];
  /** How many of the flood had been taken when a visitor came. */
  const before = new Map<string, number>();
  const floods = (): number => taken.filter((word) => word.startsWith("flood")).length;
  const pid = system.spawn<string>(
    {
      handle: async (_ctx, word) => {
        const came = before.get(word);
        if (came !== undefined) {
          sim.sometimes("a visitor meets a flood", (system.info(pid)?.mailboxDepth ?? 0) > 5);
          // Its own turn, and the message that was at work.
          expect(floods() - came).toBeLessThanOrEqual(2);
        }
        taken.push(word);
        await sim.sleep(sim.oneOf([0, 1, 5], "takes"));
      },
    },
    { label: "desk", mailbox: fairMailbox({ perSender: 12, overflow: "drop-newest" }) },
  );
  const sender = (label: string, times: number): Pid<"go"> =>
    system.spawn<"go">(
      {
        handle: (ctx) => {
          for (let i = 0; i < times; i++) {
            const word = `${label} ${sim.now}`;
            if (label !== "flood") before.set(word, floods());
            ctx.send(pid, word);
          }
        },
      },
      { label },
    );
  const flood = sender("flood", 4);
  const visitors = [sender("a", 1), sender("b", 1), sender("c", 1)] as const;
  for (const visitor of visitors) {
    for (let i = 0; i < 3; i++) system.send(flood, "go");
    await sim.sleep(sim.oneOf([0, 3, 10], "wait"));
    system.send(visitor, "go");
  }
  await sim.sleep(1_000);
  const answered = [...before.keys()].filter((word) => !taken.includes(word));
  sim.sometimes("a sender crashed", system.population < 5);
  expect(answered).toEqual([]);
}

describe("protection, under any schedule", () => {
  it("a breaker that crashes stops no call, and a half-open one admits its probes alone [G4]", async () => {
    await explored(bank, {
      quick: 100,
      name: "breaker",
      faults: { crash: { of: "s/**/bank", atMost: 2 }, pause: { of: "s/**" } },
      sometimes: [
        "the breaker is open",
        "the breaker is half-open",
        "the breaker is closed",
        "the breaker crashed",
        "a call passes without a breaker",
      ],
    });
  });

  it("a limiter keeps its rate, and those that exit while they wait take no permit and no place [G7]", async () => {
    await explored(mail, {
      quick: 100,
      name: "limiter",
      faults: { crash: { of: ["s/a", "s/b", "s/c"], atMost: 2 }, pause: { of: "s/limiter" } },
      sometimes: ["a sender exits while it waits"],
    });
  });

  it("a fair mailbox takes a visitor after at most one more message of a flood [G14]", async () => {
    await explored(desk, {
      quick: 100,
      name: "flood",
      faults: {
        crash: { of: ["s/flood", "s/a", "s/b", "s/c"], atMost: 2 },
        pause: { of: "s/**", forMs: [1, 5] },
      },
      sometimes: ["a visitor meets a flood", "a sender crashed"],
    });
  });
});
