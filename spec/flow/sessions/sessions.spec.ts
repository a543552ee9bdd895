// Sessions between flows of running hosts.

import { System } from "signalbox";
import { type AnyFlow, defineFlow, flowHost, SessionEndedError, SessionPeerError } from "signalbox/flow";
import { memory } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";

const seller = defineFlow("seller", { answers: "purchase" }, async (flow) => {
  const session = await flow.accept("purchase");
  const wanted = await session.receive<string>();
  await session.send(`${wanted} costs 5`);
  const word = await session.receive<string>();
  if (word === "haggle") throw new Error("no haggling");
  return `${word} from ${session.peer}`;
});

class Bench {
  /** The journal of a flow that ends is read back as a whole, an entry in a turn. */
  readonly clock = testClock({ turns: 2_000 });
  readonly store = memory({ shared: true });
  readonly system = new System({ environment: this.clock.environment });
  host(...flows: AnyFlow[]) {
    return this.system.start(flowHost({ store: this.store, flows, verify: true }));
  }
  pass(ms = 100): Promise<void> {
    return this.clock.advance(ms);
  }
}

/** What the code gets for the errors of its session. */
const fate = async (act: Promise<unknown>): Promise<string> =>
  act.then(
    (value) => `got ${String(value)}`,
    (error: Error) => `${error.name}: ${(error.cause as Error | undefined)?.message ?? ""}`,
  );

describe("a session", () => {
  it("of two flows is a conversation, in which a new flow answers", async () => {
    const bench = new Bench();
    const buyer = defineFlow("buyer", async (flow) => {
      const session = await flow.session(seller, "purchase");
      const price = await session.sendAndReceive<string>("tea");
      await session.send("bought");
      await session.close();
      return price;
    });
    const flows = await bench.host(seller, buyer);
    const run = await flows.start(buyer, undefined, { id: "b" });
    await bench.pass();
    expect(await run.result()).toBe("tea costs 5");
    expect(await flows.get("b/session purchase/answer").result()).toBe("bought from b");
    await flows.stop();
  });

  it("joins flows of two hosts, and survives that both hosts are replaced in the middle [U25]", async () => {
    const bench = new Bench();
    const echo = defineFlow("echo", async (flow) => {
      const session = await flow.accept("echo");
      for await (const value of session) await session.send(`echo ${String(value)}`);
      return "closed";
    });
    const caller = defineFlow("caller", async (flow) => {
      const session = await flow.session("echo-1", "echo");
      const answers: string[] = [];
      for (let i = 0; i < 6; i++) {
        answers.push(await session.sendAndReceive<string>(i));
        if (i === 2) await flow.receive<string>("go");
      }
      await session.close();
      return answers;
    });
    const one = await bench.host(echo);
    const two = await bench.host(caller);
    await one.start(echo, undefined, { id: "echo-1" });
    await two.start(caller, undefined, { id: "c" });
    await bench.pass();
    await one.stop();
    await two.stop();
    const three = await bench.host(echo, caller);
    await three.get("c").send("go", "on");
    await bench.pass(10_000);
    expect(await three.get("c").result()).toEqual([0, 1, 2, 3, 4, 5].map((i) => `echo ${i}`));
    expect(await three.get("echo-1").result()).toBe("closed");
    await three.stop();
  });

  it("holds up a sender whose values are not received, and loses none [U22]", async () => {
    const bench = new Bench();
    const slow = defineFlow("slow", { answers: "many" }, async (flow) => {
      const session = await flow.accept("many");
      await flow.receive<string>("go");
      const got: unknown[] = [];
      for await (const value of session) got.push(value);
      return got;
    });
    const quick = defineFlow("quick", async (flow) => {
      const session = await flow.session(slow, "many");
      for (let i = 0; i < 100; i++) {
        await session.send(i);
        flow.progress(i);
      }
      await session.close();
      return "sent";
    });
    const flows = await bench.host(slow, quick);
    const run = await flows.start(quick, undefined, { id: "q" });
    await bench.pass(20_000);
    expect((await run.info()).finished).toBeUndefined();
    const answer = flows.get<number[]>("q/session many/answer");
    await answer.send("go", "on");
    await bench.pass(20_000);
    expect(await run.result()).toBe("sent");
    expect(await answer.result()).toEqual(Array.from({ length: 100 }, (_, i) => i));
    await flows.stop();
  });
});

describe("a flow whose peer", () => {
  const asks = (word: string) =>
    defineFlow("asks", async (flow) => {
      const session = await flow.session(seller, "purchase");
      await session.sendAndReceive("tea");
      if (word !== "") await session.send(word);
      return [await fate(session.receive()), await fate(session.receive()), await fate(session.send("more"))];
    });
  const over = [`${SessionEndedError.name}: `, `${SessionEndedError.name}: `];

  it("fails is reported once, by the error of the peer [U19]", async () => {
    const bench = new Bench();
    const buyer = asks("haggle");
    const flows = await bench.host(seller, buyer);
    const run = await flows.start(buyer, undefined);
    await bench.pass();
    expect(await run.result()).toEqual([`${SessionPeerError.name}: no haggling`, ...over]);
    await flows.stop();
  });

  it("returns: its peer learns that the session is over [U21]", async () => {
    const bench = new Bench();
    const buyer = asks("fine");
    const flows = await bench.host(seller, buyer);
    const run = await flows.start(buyer, undefined);
    await bench.pass();
    expect(await run.result()).toEqual([over[0], ...over]);
    await flows.stop();
  });

  it.each([
    ["while it is in memory", 100],
    ["while it is out of memory", 60_000],
  ])("is killed %s is reported once [U19]", async (_when, ms) => {
    const bench = new Bench();
    const buyer = asks("");
    const flows = await bench.host(seller, buyer);
    const run = await flows.start(buyer, undefined, { id: "b" });
    await bench.pass(ms);
    await flows.get("b/session purchase/answer").kill();
    await bench.pass();
    const why = 'flow "b/session purchase/answer" was killed';
    expect(await run.result()).toEqual([`${SessionPeerError.name}: ${why}`, ...over]);
    await flows.stop();
  });
});

describe("a session that no flow answers", () => {
  it("is rejected: by no flow, by an ended flow, by a flow that ends, by a definition of another protocol [U20]", async () => {
    const bench = new Bench();
    const mute = defineFlow("mute", async (flow) => flow.receive<string>("end"));
    const asks = defineFlow("asks", async (flow, to: string) =>
      fate(flow.session(to === "" ? mute : to, "talk")),
    );
    const flows = await bench.host(mute, asks);
    const rejected = "SessionRejectedError: ";
    const ask = async (to: string) => flows.start(asks, to);
    expect(await (await ask("nowhere")).result()).toBe(rejected);
    expect(await (await ask("")).result()).toBe(rejected);
    const peer = await flows.start(mute, undefined, { id: "m" });
    const waiting = await ask("m");
    await bench.pass();
    expect((await waiting.info()).finished).toBeUndefined();
    await peer.send("end", "now");
    await bench.pass();
    expect(await waiting.result()).toBe(rejected);
    const late = await ask("m");
    await bench.pass();
    expect(await late.result()).toBe(rejected);
    await flows.stop();
  });

  it("or whose peer says nothing ends by its timeout, and a receive of its own gives up [U23]", async () => {
    const bench = new Bench();
    const mute = defineFlow("mute", async (flow) => flow.receive<string>("end"));
    const asks = defineFlow("asks", async (flow) => {
      const opened = await fate(flow.session("m", "talk", { timeout: "1 min" }));
      const session = await flow.session(seller, "purchase");
      const nothing = await session.receive({ timeout: "1 min" });
      const price = await session.sendAndReceive<string>("tea");
      return [opened, nothing, price, await flow.accept("talk", { timeout: 10 })];
    });
    const flows = await bench.host(mute, asks, seller);
    await flows.start(mute, undefined, { id: "m" });
    const run = await flows.start(asks, undefined);
    await bench.pass(200_000);
    expect(await run.result()).toEqual(["SessionWaitError: ", undefined, "tea costs 5", undefined]);
    await flows.stop();
  });
});
