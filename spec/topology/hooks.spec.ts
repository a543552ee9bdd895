// What is called when, in the life of a task.

import { bolt, grouping, spout, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { N, Source, Stage } from "./support.js";

class Diary {
  readonly lines: string[] = [];

  note(line: string): void {
    this.lines.push(line);
  }

  /** What was written since this was asked last. */
  get news(): string[] {
    return this.lines.splice(0);
  }

  hooks(name: string): {
    readonly init: () => void;
    readonly activate: () => Promise<void>;
    readonly deactivate: () => Promise<void>;
    readonly close: (ctx: unknown, final: boolean) => Promise<void>;
  } {
    return {
      init: () => this.note(`${name} init`),
      activate: async () => this.note(`${name} activate`),
      deactivate: async () => this.note(`${name} deactivate`),
      close: async (_ctx, final) => this.note(`${name} close ${final ? "final" : "restart"}`),
    };
  }
}

describe("the hooks of a task", () => {
  it("are called in order: bolts before spouts at the start, and after them at the end", async () => {
    await using stage = new Stage();
    const diary = new Diary();
    const spring = spout({
      ...diary.hooks("spout"),
      streams: { numbers: N },
      next: ({ emit, done }) => {
        diary.note("next");
        emit.numbers({ n: 1 }, { id: 1 });
        done();
      },
    });
    const well = bolt({ ...diary.hooks("bolt"), input: N, execute: () => diary.note("execute") });
    const running = await stage.start(
      topology("order")
        .spout("spring", spring)
        .bolt("well", well, { from: { "spring.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(diary.news).toEqual([
      "bolt init",
      "spout init",
      "bolt activate",
      "spout activate",
      "next",
      "execute",
    ]);
    await running.pause();
    await stage.settle();
    expect(diary.news).toEqual(["spout deactivate", "bolt deactivate"]);
    await running.resume();
    await stage.settle();
    expect(diary.news).toEqual(["bolt activate", "spout activate"]);
    await running.stop();
    expect(diary.news).toEqual([
      "spout deactivate",
      "spout close final",
      "bolt deactivate",
      "bolt close final",
    ]);
  });

  it("of a bolt that is restarted in a pause are called when the pause is over [O31]", async () => {
    await using stage = new Stage();
    const diary = new Diary();
    const well = bolt({ ...diary.hooks("bolt"), input: N, execute: () => undefined });
    const running = await stage.start(
      topology("paused")
        .spout("source", new Source().spout)
        .bolt("well", well, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await running.pause();
    await stage.settle();
    expect(diary.news).toEqual(["bolt init", "bolt activate", "bolt deactivate"]);
    await stage.kill(running, "well");
    expect(diary.news).toEqual(["bolt init"]);
    await running.resume();
    await stage.settle();
    expect(diary.news).toEqual(["bolt activate"]);
  });

  it("are called for a task that is restarted, but not `close` of one that crashed", async () => {
    await using stage = new Stage();
    const diary = new Diary();
    const well = bolt({ ...diary.hooks("bolt"), input: N, execute: () => undefined });
    const running = await stage.start(
      topology("crash")
        .spout("source", new Source().spout)
        .bolt("well", well, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(diary.news).toEqual(["bolt init", "bolt activate"]);
    await stage.kill(running, "well");
    expect(diary.news).toEqual(["bolt init", "bolt activate"]);
  });

  it("are not called for one that crashes by itself either", async () => {
    await using stage = new Stage();
    const diary = new Diary();
    let crashes = 0;
    const crash = (): void => {
      if (crashes++ === 0) throw new Error("out of order");
    };
    const ill = bolt({ ...diary.hooks("bolt"), input: N, execute: () => undefined, tick: crash });
    const worse = spout({
      ...diary.hooks("spout"),
      streams: { numbers: N },
      next: () => {
        if (crashes === 1) throw new Error(`out of order ${++crashes}`);
      },
    });
    await stage.start(
      topology("ill")
        .spout("worse", worse)
        .bolt("ill", ill, { tickMs: 1_000, from: { "worse.numbers": grouping.shuffle() } })
        .build(),
    );
    diary.news;
    await stage.advance(2_000);
    expect(diary.news.sort()).toEqual(["bolt activate", "bolt init", "spout activate", "spout init"]);
  });

  it("get `final: false` in a task that is restarted with others", async () => {
    await using stage = new Stage();
    const diary = new Diary();
    const well = bolt({ ...diary.hooks("bolt"), input: N, execute: () => undefined });
    const running = await stage.start(
      topology("executor", { intensity: 0 })
        .spout("source", new Source().spout)
        .bolt("well", well, { tasks: 2, executors: 1, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    diary.news;
    await stage.kill(running, "well");
    expect(diary.news).toEqual([
      "bolt deactivate",
      "bolt close restart",
      ...["bolt init", "bolt activate", "bolt init", "bolt activate"],
    ]);
  });

  it("of a spout that restarts while the topology is paused are `init` alone", async () => {
    await using stage = new Stage();
    const diary = new Diary();
    const spring = spout({ ...diary.hooks("spout"), streams: { numbers: N }, next: () => undefined });
    const running = await stage.start(topology("paused").spout("spring", spring).build());
    await running.pause();
    await stage.settle();
    diary.news;
    await stage.kill(running, "spring");
    expect(diary.news).toEqual(["spout init"]);
    await running.resume();
    await stage.settle();
    expect(diary.news).toEqual(["spout activate"]);
  });
});

describe("a tick", () => {
  it("comes every period, whether or not there are tuples", async () => {
    await using stage = new Stage();
    const times: number[] = [];
    const clockwork = bolt({ input: N, execute: () => undefined, tick: ({ now }) => void times.push(now()) });
    await stage.start(
      topology("ticks")
        .spout("source", new Source().spout)
        .bolt("clockwork", clockwork, { tickMs: 300, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(1_000);
    expect(times).toEqual([300, 600, 900]);
  });

  it("comes to each task", async () => {
    await using stage = new Stage();
    const told: number[] = [];
    const clockwork = bolt({
      input: N,
      execute: () => undefined,
      tick: ({ index }) => void told.push(index),
    });
    await stage.start(
      topology("ticks")
        .spout("source", new Source().spout)
        .bolt("clockwork", clockwork, {
          tasks: 3,
          tickMs: 100,
          from: { "source.numbers": grouping.shuffle() },
        })
        .build(),
    );
    await stage.advance(100);
    expect(told.sort()).toEqual([0, 1, 2]);
  });

  it("does not pile up in front of a task that is busy", async () => {
    await using stage = new Stage();
    let ticks = 0;
    let free = (): void => undefined;
    const busy = bolt({
      input: N,
      execute: () =>
        new Promise<void>((resolve) => {
          free = resolve;
        }),
      tick: () => void ticks++,
    });
    await stage.start(
      topology("busy")
        .spout("source", new Source([1]).spout)
        .bolt("busy", busy, { tickMs: 100, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(1_000);
    free();
    await stage.settle();
    expect(ticks).toBe(1);
    await stage.advance(100);
    expect(ticks).toBe(2);
  });
});

describe("the context of a task", () => {
  it("is its component, its id, which of its component's tasks it is, and the time", async () => {
    await using stage = new Stage();
    const told: unknown[] = [];
    const known = bolt({
      input: N,
      init: ({ component, task, index, now }) => ({ component, task, index, now: now() }),
      execute: (_tuple, { state, component, task, index, process }) => {
        expect({ component, task, index, now: 0 }).toEqual(state);
        told.push([component, index, process.alive]);
      },
    });
    const running = await stage.start(
      topology("known")
        .spout("source", new Source([1, 2]).spout)
        .bolt("known", known, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(told).toEqual(
      expect.arrayContaining([
        ["known", 0, true],
        ["known", 1, true],
      ]),
    );
    const ids = running.tasks().map(({ task }) => task);
    expect(ids).toEqual(upToLength(ids.length));
  });

  it("is random by the system's random numbers", async () => {
    const draw = async (): Promise<number[]> => {
      await using stage = new Stage();
      const drawn: number[] = [];
      const dice = bolt({ input: N, execute: (_tuple, { random }) => void drawn.push(random()) });
      await stage.start(
        topology("dice")
          .spout("source", new Source([1, 2, 3]).spout)
          .bolt("dice", dice, { from: { "source.numbers": grouping.shuffle() } })
          .build(),
      );
      return drawn;
    };
    const drawn = await draw();
    expect(new Set(drawn).size).toBe(3);
    expect(await draw()).toEqual(drawn);
  });
});

function upToLength(length: number): number[] {
  return Array.from({ length }, (_, i) => i + 1);
}
