// A flow that diverges runs over its journal once more, to find the place of its last ask. Whatever becomes of that run, the flow fails.

import { System } from "signalbox";
import { defineFlow, type FlowContext, type FlowHost, flowHost } from "signalbox/flow";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { HOST_CLAIMS } from "../../../lib/flow/journal/tables.js";
import { memory } from "../../../lib/store/index.js";
import { OpenedSource } from "../../support/opened-store.js";

type Body = (flow: FlowContext) => Promise<unknown>;

const STALL_MS = 10_000;
const nothing = (): Promise<never> => new Promise(() => undefined);

/** The line of the call. */
const line = (): number =>
  Number(new Error("here").stack?.split("\n")[2]?.match(/divergence\.spec\.ts:(\d+):/)?.[1]);

/** The code takes two steps, then waits. */
const recorded: Body = async (flow) => {
  await flow.step("a", () => 1);
  await flow.step("b", () => 2);
  return flow.receive("go");
};

const child = defineFlow("child", async (flow, n: number) => flow.step("double", () => 2 * n));
const peer = defineFlow("peer", { answers: "talk" }, async (flow) => {
  const session = await flow.accept("talk");
  await session.send(1);
});

/** A flow whose code is another one since its host died. */
class Changed implements AsyncDisposable {
  readonly clock = testClock();
  readonly memory = memory();
  readonly source = new OpenedSource(this.memory);
  system = this.#start();
  flows!: FlowHost;

  #start(): System {
    return new System({ environment: this.clock.environment, report: false });
  }

  static async from(before: Body, after: Body): Promise<Changed> {
    const changed = new Changed();
    await changed.host(before);
    const flow = defineFlow("order", (given, _: null) => before(given));
    await changed.clock.until(changed.flows.start(flow, null, { id: "o" }));
    await changed.clock.advance(1_000);
    changed.memory.lose();
    await changed.restart(after);
    return changed;
  }

  async host(body: Body): Promise<void> {
    const flow = defineFlow("order", (given, _: null) => body(given));
    const host = flowHost({ store: this.source, flows: [flow, child, peer] });
    this.flows = await this.clock.until(this.system.start(host));
    await this.clock.settle();
  }

  async restart(body: Body): Promise<void> {
    await this.clock.until(this.system.stop());
    this.system = this.#start();
    await this.host(body);
  }

  async status(): Promise<string> {
    await this.clock.settle();
    return (await this.clock.until(this.flows.get("o").info())).status;
  }

  /** How many replays run that seek a place. */
  get searches(): number {
    const labels = this.system.processes().map((pid) => this.system.info(pid)?.label ?? "");
    return labels.filter((label) => label.startsWith("replay of")).length;
  }

  /** What the hospital has of it. */
  async message(): Promise<string | undefined> {
    const [patient] = await this.clock.until(this.flows.hospital.patients({ kind: "divergence" }));
    return patient?.record?.symptom.message;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clock.until(this.system.stop());
  }
}

describe("a flow that returns early names the place of its last ask", () => {
  let at = 0;
  const bodies: readonly (readonly [string, string, Body, Body])[] = [
    [
      "in a branch beside others",
      'step "b"',
      async (flow) => {
        await Promise.all([flow.step("a", () => 1), flow.step("b", () => 2)]);
        await flow.step("c", () => 3);
        return flow.receive("go");
      },
      async (flow) => {
        const second = async (): Promise<unknown> => {
          at = line() + 1;
          return await flow.step("b", () => 2);
        };
        return Promise.all([flow.step("a", () => 1), second()]);
      },
    ],
    [
      "behind a change that its code guards",
      'step "a"',
      async (flow) => {
        await flow.step("a", () => 1);
        flow.version("discount", 1, 2);
        await flow.step("b", () => 2);
        return flow.receive("go");
      },
      async (flow) => {
        at = line() + 1;
        await flow.step("a", () => 1);
        return flow.version("discount", 1, 2);
      },
    ],
    [
      "of one name used twice",
      'step "a#2"',
      async (flow) => {
        await flow.step("a", () => 1);
        await flow.step("a", () => 1);
        await flow.step("b", () => 2);
        return flow.receive("go");
      },
      async (flow) => {
        await flow.step("a", () => 1);
        at = line() + 1;
        await flow.step("a", () => 1);
      },
    ],
    [
      "of an error that it caught",
      'step "a"',
      async (flow) => {
        await flow
          .step("a", () => Promise.reject(new Error("sold out")), { retry: { attempts: 1 } })
          .catch(() => undefined);
        await flow.step("b", () => 2);
        return flow.receive("go");
      },
      async (flow) => {
        at = line() + 1;
        const sold = flow.step("a", () => 1);
        return sold.catch(() => "sold out");
      },
    ],
    [
      "of a timer",
      'sleep "sleep"',
      async (flow) => {
        await flow.sleep(1);
        await flow.step("b", () => 2);
        return flow.receive("go");
      },
      async (flow) => {
        at = line() + 1;
        await flow.sleep(1);
      },
    ],
  ];
  it.each(bodies)("%s [N570]", async (_, ask, before, after) => {
    await using changed = await Changed.from(before, after);
    expect(await changed.message()).toMatch(
      new RegExp(`the code returns; its last ask was ${ask} at .*divergence\\.spec\\.ts:${at}:\\d+\\.`),
    );
  });
});

describe("a flow that returns early behind an ask of any kind", () => {
  const asks: readonly (readonly [string, (flow: FlowContext) => Promise<unknown>])[] = [
    ["a step", (flow) => flow.step("a", () => 1)],
    ["a sleep", (flow) => flow.sleep(1)],
    ["a moment", (flow) => flow.sleepUntil(1)],
    ["a message", (flow) => flow.receive("go", { timeout: 1 })],
    ["a message to a flow", (flow) => flow.send("o", "hello", 1)],
    ["an event", (flow) => flow.emit("news", 1)],
    ["a child", (flow) => flow.call(child, 1)],
    ["a child that it starts", async (flow) => (await flow.start(child, 1)).result()],
    ["an idempotent part", (flow) => flow.idempotent("a", async (inner) => inner.step("b", () => 1))],
    ["a timed part", (flow) => flow.timed("a", async (inner) => inner.step("b", () => 1))],
    ["a saga", (flow) => saga(flow)],
    ["a session", async (flow) => (await flow.session(peer, "talk")).receive()],
    ["a session that nobody asks for", (flow) => flow.accept("talk", { timeout: 1 })],
  ];
  const saga = async (flow: FlowContext): Promise<unknown> => {
    const steps = flow.saga();
    await steps.step(
      "a",
      () => 1,
      () => 2,
    );
    return steps.rollback();
  };
  it.each(asks)("%s: its error has a place [N570]", async (_, ask) => {
    const whole: Body = async (flow) => {
      await ask(flow);
      await flow.step("last", () => 1);
      return flow.receive("end");
    };
    const once: Body = async (flow) => {
      await ask(flow);
    };
    await using changed = await Changed.from(whole, once);
    expect(await changed.message()).toMatch(
      /recorded was step "last", the code returns; its last ask was .* at .*divergence\.spec\.ts:\d+:\d+\. Bring/,
    );
  });
});

describe("the code of a flow that diverges", () => {
  const ways: readonly (readonly [string, number, (flow: FlowContext) => unknown])[] = [
    ["asks", 1, (flow) => flow.step("c", () => 2)],
    ["throws", 1, () => Promise.reject(new TypeError("no price"))],
    ["returns", 2, () => "early"],
    ["waits", 2, nothing],
  ];
  it.each(ways)("that %s runs %i times [N570]", async (did, runs, deviation) => {
    let ran = 0;
    await using changed = await Changed.from(recorded, async (flow) => {
      ran++;
      await flow.step("a", () => 1);
      return deviation(flow);
    });
    await changed.clock.advance(STALL_MS);
    expect(await changed.message()).toContain(`the code ${did === "waits" ? "has asked nothing" : did}`);
    expect(await changed.message()).toMatch(/divergence\.spec\.ts:\d+:\d+\./);
    expect(ran).toBe(runs);
  });

  it("is reported with its place by a host that verifies, too [N570]", async () => {
    const clock = testClock();
    await using system = new System({ environment: clock.environment, report: false });
    let isFirst = true;
    const shortened = defineFlow("shortened", async (given, _: null) => {
      const goesOn = isFirst;
      isFirst = false;
      await given.step("a", () => 1);
      if (goesOn) await given.step("b", () => 2);
    });
    const host = flowHost({ store: memory(), flows: [shortened], verify: true });
    const flows = await clock.until(system.start(host));
    await clock.until(flows.start(shortened, null, { id: "s" }));
    await clock.advance(1_000);
    const [patient] = await clock.until(flows.hospital.patients());
    expect(patient?.record?.symptom.message).toMatch(
      /the code returns; its last ask was step "a" at .*divergence\.spec\.ts:\d+:\d+\./,
    );
    await clock.until(system.stop());
  });

  it("that takes the recorded way runs once [N570]", async () => {
    let ran = 0;
    await using changed = await Changed.from(recorded, (flow) => {
      ran++;
      return recorded(flow);
    });
    await changed.clock.until(changed.flows.get("o").send("go", "done"));
    expect(await changed.clock.until(changed.flows.get("o").result())).toBe("done");
    expect(ran).toBe(1);
  });

  it("names the place where it stopped, also when it goes on while the place is sought [N570]", async () => {
    let goOn = (): void => undefined;
    let ran = 0;
    await using changed = await Changed.from(recorded, async (flow) => {
      if (++ran === 2) {
        goOn();
        await Promise.resolve();
      }
      await flow.step("a", () => 1);
      await new Promise<void>((go) => {
        goOn = go;
      });
      await flow.step("c", () => 2);
      return "c";
    });
    await changed.clock.advance(STALL_MS);
    expect(ran).toBe(2);
    expect(await changed.message()).toMatch(
      /has asked nothing .* its last ask was step "a" at .*divergence\.spec/,
    );
  });
});

describe("code that goes another way when the place is sought", () => {
  /** The first replay returns early. */
  const unlike = (second: Body): [Body, () => number] => {
    let ran = 0;
    const body: Body = async (flow) => {
      if (++ran === 2) return second(flow);
      await flow.step("a", () => 1);
      return "early";
    };
    return [body, () => ran];
  };
  const others: readonly (readonly [string, Body])[] = [
    ["asks for something else", (flow) => flow.step("c", () => 3)],
    ["returns at once", async () => "at once"],
    ["throws", () => Promise.reject(new Error("no luck"))],
    ["waits for something that is no ask", nothing],
  ];
  it.each(others)(
    "and %s: the flow fails with its first error, without a place [N570]",
    async (_, second) => {
      const [body, ran] = unlike(second);
      await using changed = await Changed.from(recorded, body);
      await changed.clock.advance(STALL_MS);
      expect(await changed.message()).toMatch(
        /journal entry 1: recorded was step "b", the code returns; its last ask was step "a"\. Bring/,
      );
      expect(ran()).toBe(2);
    },
  );

  it("takes the recorded way then: the flow fails with its first error all the same [N570]", async () => {
    const [body, ran] = unlike(recorded);
    await using changed = await Changed.from(recorded, body);
    expect(await changed.status()).toBe("hospitalized");
    expect(await changed.message()).toContain("the code returns");
    expect(ran()).toBe(2);
  });

  /** A flow that has diverged, and whose place is being sought. */
  const waiting = async (): Promise<Changed> => {
    const [body] = unlike(nothing);
    const changed = await Changed.from(recorded, body);
    expect(await changed.status()).toBe("running");
    expect(changed.searches).toBe(1);
    return changed;
  };

  it("does not hold up a kill [N571]", async () => {
    await using changed = await waiting();
    const before = changed.clock.now;
    await changed.clock.until(changed.flows.get("o").kill());
    await changed.clock.advance(1);
    expect(await changed.status()).toBe("killed");
    expect(changed.searches).toBe(0);
    expect(changed.clock.now - before).toBeLessThan(STALL_MS);
  });

  const stays: Body = async (flow) => {
    await flow.step("a", () => 1);
    return "early";
  };

  it("does not hold up the stop of its host: the next host finds that the flow diverges [N571]", async () => {
    await using changed = await waiting();
    const before = changed.clock.now;
    await changed.clock.until(changed.system.stop());
    expect(changed.clock.now).toBe(before);
    await changed.restart(stays);
    expect(await changed.status()).toBe("hospitalized");
    expect(await changed.message()).toMatch(/its last ask was step "a"/);
  });

  it("ends with a host that loses its claim: the next host finds that the flow diverges [N571]", async () => {
    await using changed = await waiting();
    const before = changed.clock.now;
    await changed.source.revoke(HOST_CLAIMS);
    await changed.clock.settle();
    expect(changed.searches).toBe(0);
    expect(changed.clock.now).toBe(before);
    await changed.restart(stays);
    expect(await changed.message()).toMatch(/its last ask was step "a" at .*divergence\.spec\.ts:\d+:\d+\./);
  });
});
