// Schedules of running hosts: by options and at run time.

import { OptionError, System } from "signalbox";
import { defineFlow, type FlowHostOptions, flowHost, ScheduleError, schedule } from "signalbox/flow";
import { memory } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";

const MINUTE = 60_000;

class Bench {
  readonly clock = testClock();
  readonly ran: string[] = [];
  readonly report = defineFlow("report", async (flow, input: string) => {
    await flow.step("write", () => void this.ran.push(`${flow.flowId} ${input}`));
  });
  readonly store = memory();
  readonly system = new System({ environment: this.clock.environment });

  host(options: Partial<FlowHostOptions> = {}) {
    return this.system.start(flowHost({ store: this.store, flows: [this.report], ...options }));
  }

  /** The wall clock of the bench, to the minute. */
  ids(): string[] {
    return this.ran.map((line) => line.replace(/\d{4}-\d\d-\d\dT/, "").replace(":00.000Z", ""));
  }
}

const minutely = (bench: Bench, name = "often") =>
  schedule(name, { every: "1 min", flow: bench.report, input: "in" });

describe("a declared schedule", () => {
  it("starts its flow at each due time, with its input", async () => {
    const bench = new Bench();
    const flows = await bench.host({ schedules: [minutely(bench)] });
    await bench.clock.advance(3 * MINUTE);
    expect(bench.ran).toHaveLength(3);
    expect(new Set(bench.ran).size).toBe(3);
    expect(bench.ran[0]).toMatch(/^often\/\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z in$/);
    const [info] = await flows.schedules.list();
    expect(info).toMatchObject({ name: "often", flow: "report", paused: false, skipped: 0 });
    expect(info?.last).toBe(bench.ran.at(-1)?.split(" ")[0]);
    await flows.stop();
  });

  it("is removed when the next version of the program does not declare it", async () => {
    const bench = new Bench();
    await (await bench.host({ schedules: [minutely(bench, "a"), minutely(bench, "b")] })).stop();
    const names = async (options: Partial<FlowHostOptions>) => {
      const flows = await bench.host(options);
      const list = await flows.schedules.list();
      await flows.stop();
      return list.map(({ name }) => name);
    };
    expect(await names({})).toEqual(["a", "b"]);
    expect(await names({ schedules: [minutely(bench, "b")] })).toEqual(["b"]);
    expect(await names({ schedules: [] })).toEqual([]);
  });

  it("waits in the queue of its flow", async () => {
    const bench = new Bench();
    const slow = defineFlow("slow", { queue: "jobs" }, async (flow) => flow.receive<string>("end"));
    const every = schedule("slow", { every: "1 min", flow: slow });
    const flows = await bench.host({
      flows: [slow],
      queues: { jobs: { concurrency: 1 } },
      schedules: [every],
    });
    await bench.clock.advance(3 * MINUTE);
    const { last } = (await flows.schedules.list())[0] as { last: string };
    expect((await flows.get(last).info()).status).toBe("pending");
    await flows.stop();
  });
});

describe("a schedule at run time", () => {
  it("is put, triggered, paused, resumed and removed", async () => {
    const bench = new Bench();
    const flows = await bench.host();
    const { schedules } = flows;
    await schedules.put(minutely(bench));
    const id = await schedules.trigger("often");
    expect(await flows.get(id).result()).toBeUndefined();
    await schedules.pause("often");
    await bench.clock.advance(3 * MINUTE);
    expect(bench.ran).toEqual([`${id} in`]);
    await schedules.resume("often");
    await bench.clock.advance(MINUTE);
    expect(bench.ran).toHaveLength(2);
    await schedules.remove("often");
    await bench.clock.advance(MINUTE);
    expect(bench.ran).toHaveLength(2);
    expect(await schedules.list()).toEqual([]);
    await expect(schedules.trigger("often")).rejects.toMatchObject({ code: "ERR_SCHEDULE_NOT_FOUND" });
    await flows.stop();
  });

  it("that cannot be understood is refused, and the one that is there goes on [U14]", async () => {
    const bench = new Bench();
    const flows = await bench.host({ schedules: [minutely(bench)] });
    const wrong = schedule("often", { cron: "61 * * * *", flow: bench.report, input: "x" });
    await expect(flows.schedules.put(wrong)).rejects.toThrow(ScheduleError);
    await expect(flows.schedules.put(wrong)).rejects.toThrow(/often.*cron must be 5 fields/);
    expect(await flows.schedules.list()).toMatchObject([{ rules: { everyMs: MINUTE } }]);
    await flows.stop();
  });

  it("with a cron expression goes by the clock of its time zone", async () => {
    const bench = new Bench();
    const flows = await bench.host();
    await flows.schedules.put(
      schedule("hourly", { cron: "0 * * * *", timeZone: "Asia/Kolkata", flow: bench.report, input: "in" }),
    );
    await bench.clock.advance(60 * MINUTE);
    expect(bench.ran).toHaveLength(1);
    expect(bench.ran[0]).toMatch(/:30:00\.000Z in$/);
    await flows.stop();
  });
});

describe("long waits", () => {
  it("of more than 2^31 milliseconds do not end at once: a sleep, a delayed start, a schedule [U24]", async () => {
    const bench = new Bench();
    const sleeper = defineFlow("sleeper", async (flow) => {
      await flow.sleep("27 days");
      bench.ran.push("slept");
    });
    const flows = await bench.host({ flows: [bench.report, sleeper] });
    const now = bench.clock.environment.wallTime();
    await flows.start(sleeper, undefined);
    await flows.start(bench.report, "later", { id: "delayed", delay: "26 days" });
    await flows.schedules.put(
      schedule("once", { at: [now + 25 * 86_400_000], flow: bench.report, input: "at" }),
    );
    await bench.clock.advance(24.5 * 86_400_000);
    expect(bench.ran).toEqual([]);
    await bench.clock.advance(86_400_000);
    expect(bench.ran).toHaveLength(1);
    await bench.clock.advance(2 * 86_400_000);
    expect(bench.ran.slice(1)).toEqual(["delayed later", "slept"]);
    await flows.stop();
  }, 30_000);
});

describe("the declaration of a schedule", () => {
  it("is checked where it is made", () => {
    const { report } = new Bench();
    expect(() => schedule("a/b", { every: 1_000, flow: report })).toThrow(OptionError);
    expect(() => schedule("a", { evry: 1_000, flow: report } as never)).toThrow(/did you mean every/);
    expect(() => schedule("a", { every: 1_000, flow: "report" } as never)).toThrow(
      /a definition made by defineFlow/,
    );
    const other = schedule("a", { every: 1_000, flow: report });
    expect(() => flowHost({ store: memory(), flows: [], schedules: [other] })).toThrow(/schedules\[0\]/);
  });
});
