// The kit that runs flows in a plain test: virtual time, crashes, mocks, and the journal.

import { type JobHost, OptionError } from "signalbox";
import { defineFlow, FlowFailedError, FlowIdTakenError, UnknownFlowError } from "signalbox/flow";
import { job } from "signalbox/nodes";
import { ClockLimitError, flowKit } from "signalbox/testing";
import { describe, expect, it } from "vitest";

const trial = defineFlow("trial", async (flow, user: string) => {
  const mail = await flow.step("welcome", () => `mail to ${user}`);
  await flow.sleep("14 days");
  return `${mail}, ${await flow.step("ask", () => "stay?")}`;
});
const waiter = defineFlow("waiter", async (flow, _: undefined) => flow.receive<string>("go"));

describe("a kit for flows", () => {
  it("runs a flow until it waits, and lets days pass at once", async () => {
    await using kit = await flowKit({ flows: [trial] });
    const run = await kit.start(trial, "ann", { id: "t" });
    expect(run.id).toBe("t");
    const before = kit.clock.now;
    expect((await run.history()).lines).toEqual(["step welcome", "sleep begun"]);
    await kit.advance("13 days");
    expect((await run.history()).lines).toHaveLength(2);
    expect(await run.result()).toBe("mail to ann, stay?");
    expect(kit.clock.now - before).toBe(14 * 86_400_000);
    expect((await run.history()).lines).toEqual(["step welcome", "sleep begun", "sleep", "step ask"]);
    expect(await run.status()).toBe("completed");
  });

  it("attaches to a flow of the same id, and refuses another definition and unknown ones", async () => {
    await using kit = await flowKit({ flows: [trial, waiter] });
    await kit.start(waiter, undefined, { id: "w" });
    const again = await kit.start(waiter, undefined, { id: "w" });
    await again.send("go", "now");
    expect(await again.result()).toBe("now");
    await expect(kit.start(trial, "x", { id: "w" })).rejects.toThrow(FlowIdTakenError);
    const other = defineFlow("other", async () => 1);
    await expect(kit.start(other, undefined)).rejects.toThrow(UnknownFlowError);
  });

  it("keeps across crashes what was committed, and runs no recorded step again [J59]", async () => {
    await using kit = await flowKit({ flows: [trial] });
    const welcome = kit.mock("welcome", ({ attempt }) => `mail ${attempt}`);
    const run = await kit.start(trial, "ann", { id: "t" });
    await kit.crash();
    await kit.crash();
    expect(await run.result()).toBe("mail 1, stay?");
    expect(welcome.calls).toEqual([{ flowId: "t", key: "welcome", attempt: 1 }]);
  });

  it("runs a step again that a crash has interrupted, once for two crashes in a row", async () => {
    await using kit = await flowKit({ flows: [trial] });
    let isDown = true;
    const welcome = kit.mock("welcome", () => (isDown ? new Promise<never>(() => undefined) : "sent"));
    const run = await kit.start(trial, "ann", { id: "t" });
    isDown = false;
    await Promise.all([kit.crash()]);
    await kit.crash();
    expect(await run.result()).toBe("sent, stay?");
    expect(welcome.calls).toHaveLength(2);
  });

  it("mocks a job that runs elsewhere [N1417]", async () => {
    const nowhere: JobHost = { run: () => Promise.reject(new Error("a thread is opened")) };
    const sum = job((numbers: number[]) => numbers.length);
    const adding = defineFlow("adding", (flow, numbers: number[]) =>
      flow.step("sum", sum, { on: nowhere, args: [numbers], retry: { attempts: 2 } }),
    );
    await using kit = await flowKit({ flows: [adding] });
    const mock = kit.mock("sum", () => 7);
    expect(await (await kit.start(adding, [1])).result()).toBe(7);
    expect(mock.calls).toHaveLength(1);
  });

  it("lets a mock fail, and changes it on the way", async () => {
    const retried = defineFlow("retried", (flow, _: undefined) =>
      flow.step("charge", () => "real", { retry: { attempts: 3 } }),
    );
    await using kit = await flowKit({ flows: [retried] });
    const charge = kit.mock("charge", () => {
      throw new Error("no money");
    });
    const poor = await kit.start(retried, undefined);
    await expect(poor.result()).rejects.toThrow(FlowFailedError);
    expect(charge.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect((await poor.history()).lines).toEqual([
      "step charge retry",
      "step charge retry",
      "step charge failed",
    ]);
    charge.use(() => "paid");
    const rich = await kit.start(retried, undefined);
    expect(await rich.result()).toBe("paid");
  });

  it("mocks a transaction without SQL", async () => {
    const book = defineFlow("book", (flow, _: undefined) =>
      flow.transaction("book", (tx) => tx.execute("insert into bookings default values")),
    );
    await using kit = await flowKit({ flows: [book] });
    kit.mock("book", () => "booked");
    expect(await (await kit.start(book, undefined)).result()).toBe("booked");
  });

  it("never calls the mock of a step that no flow has", async () => {
    await using kit = await flowKit({ flows: [trial] });
    const unknown = kit.mock("wellcome", () => "never");
    expect(await (await kit.start(trial, "ann")).result()).toBe("mail to ann, stay?");
    expect(unknown.calls).toEqual([]);
  });

  it("cancels, and says so in the journal", async () => {
    await using kit = await flowKit({ flows: [waiter] });
    const run = await kit.start(waiter, undefined, { id: "w" });
    await run.cancel();
    await expect(run.result()).rejects.toThrow(FlowFailedError);
    expect((await run.history()).lines).toContain("flow w cancelled");
  });

  it("says that a flow waits for what never comes, and has no history of an unknown one", async () => {
    await using kit = await flowKit({ flows: [waiter], host: { limits: { idleMs: 1 } } });
    const run = await kit.start(waiter, undefined);
    await expect(run.result()).rejects.toThrow(ClockLimitError);
    expect(kit.population).toBeGreaterThan(0);
    expect((await kit.get("nobody").history()).lines).toEqual([]);
    await expect(kit.get("nobody").status()).rejects.toThrow("nobody");
  });

  it("refuses bad input, and goes on [J60]", async () => {
    await using kit = await flowKit({ flows: [trial] });
    const run = await kit.start(trial, "ann");
    for (const time of [-1, Number.NaN, "yesterday", "-2 days"])
      await expect(kit.advance(time as never), String(time)).rejects.toThrow(OptionError);
    expect(() => kit.mock("", () => 1)).toThrow(OptionError);
    expect(() => kit.mock("ask", "stay" as never)).toThrow(OptionError);
    await expect(flowKit({ flow: [trial] } as never)).rejects.toThrow(OptionError);
    await expect(flowKit({ flows: [trial, trial] })).rejects.toThrow(OptionError);
    expect(await run.result()).toBe("mail to ann, stay?");
  });
});
