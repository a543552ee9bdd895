// How a topology is put together: what does not compile, what `build()` refuses, and shapes that are allowed.

import { OptionError } from "signalbox";
import {
  bolt,
  field,
  grouping,
  type Problem,
  spout,
  spoutFrom,
  type TopologyBuilder,
  TopologyError,
  topology,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { Keeper, N, Source, Stage } from "./support.js";

const sentences = spout({
  streams: { lines: { text: field.text, at: field.number } },
  next: () => undefined,
});
const split = bolt({
  input: { text: field.text },
  streams: { words: { word: field.text } },
  execute: () => undefined,
});
const count = bolt({ input: { word: field.text }, execute: () => undefined });
const joined = bolt({
  inputs: { lines: { text: field.text }, words: { word: field.text } },
  execute: () => undefined,
});
const begun = topology("words").spout("sentences", sentences);
const both = begun.bolt("split", split, { from: { "sentences.lines": grouping.shuffle() } });

/** What `build()` finds wrong with it. */
function problemsOf(builder: { build(): unknown }): readonly string[] {
  try {
    builder.build();
  } catch (error) {
    expect(error).toBeInstanceOf(TopologyError);
    return (error as TopologyError).problems.map(({ component, text }: Problem) => `${component}: ${text}`);
  }
  return [];
}

/** A builder without its types, as it is to a user of plain JavaScript. */
const untyped = (
  builder: unknown,
): TopologyBuilder<never, never> & { subscribe(...args: unknown[]): never } => builder as never;

describe("a subscription that does not compile, and is refused by `build()`,", () => {
  it("leads from a stream that no component emits", () => {
    // @ts-expect-error there is no stream `sentences.words`
    const wrong = begun.bolt("split", split, { from: { "sentences.words": grouping.shuffle() } });
    expect(problemsOf(wrong)[0]).toMatch(
      /^split: reads sentences\.words, which no component emits; there are sentences\./,
    );
  });

  it("leads from a component that is not there", () => {
    // @ts-expect-error there is no component `paragraphs`
    const wrong = begun.bolt("split", split, { from: { "paragraphs.lines": grouping.shuffle() } });
    expect(problemsOf(wrong)[0]).toMatch(/^split: reads paragraphs\.lines, which no component emits/);
  });

  it("leads from a stream that lacks a field of the bolt's", () => {
    // @ts-expect-error sentences.lines has no `word`
    const wrong = begun.bolt("count", count, { from: { "sentences.lines": grouping.shuffle() } });
    expect(problemsOf(wrong)).toEqual(["count: reads the field word, which sentences.lines does not carry"]);
  });

  it("leads from a stream whose field has another type", () => {
    const texts = bolt({ input: { at: field.text }, execute: () => undefined });
    // @ts-expect-error `at` is a number
    const wrong = begun.bolt("texts", texts, { from: { "sentences.lines": grouping.shuffle() } });
    expect(problemsOf(wrong)).toEqual(["texts: reads at as text, but in sentences.lines it is number"]);
  });

  it("leads to a bolt that reads streams of other names only", () => {
    const others = bolt({ inputs: { others: { text: field.text } }, execute: () => undefined });
    // @ts-expect-error it reads streams of the name `others`
    const wrong = begun.bolt("others", others, { from: { "sentences.lines": grouping.shuffle() } });
    expect(problemsOf(wrong)).toEqual(["others: does not read streams of the name lines, but only others"]);
  });

  it("leads to a bolt that is not there", () => {
    // @ts-expect-error there is no bolt `count`
    const wrong = both.subscribe("split.words", "count", grouping.shuffle());
    expect(problemsOf(wrong)).toEqual(["count: subscribes to split.words, but there is no such component"]);
  });

  it("leads to a spout", () => {
    // @ts-expect-error a spout reads nothing
    const wrong = both.subscribe("split.words", "sentences", grouping.shuffle());
    expect(problemsOf(wrong)).toEqual(["sentences: is a spout: it cannot read split.words"]);
  });
});

describe("a grouping that does not compile, and is refused by `build()`,", () => {
  it("goes by a field that the stream does not carry", () => {
    // @ts-expect-error split.words has no `wrod`
    const wrong = both.bolt("count", count, { from: { "split.words": grouping.fields("wrod") } });
    expect(problemsOf(wrong)).toEqual([
      "count: is grouped by the field wrod, which split.words does not carry",
    ]);
    const misspelt = grouping.partialKey("word", "txet");
    // @ts-expect-error the second is misspelt
    const second = both.bolt("count", count, { from: { "split.words": misspelt } });
    expect(problemsOf(second)).toEqual([
      "count: is grouped by the field txet, which split.words does not carry",
    ]);
  });

  it("stands where options of a subscription do, and goes by a field that is not there", () => {
    const misspelt = { grouping: grouping.fields("wrod") };
    // @ts-expect-error split.words has no `wrod`
    const wrong = both.bolt("count", count, { from: { "split.words": misspelt } });
    expect(problemsOf(wrong)).toHaveLength(1);
  });
});

describe("an emit that does not compile", () => {
  it("is one on a stream that the component has not, or with other values", () => {
    bolt({
      input: { text: field.text },
      streams: { words: { word: field.text } },
      execute: ({ values }, { emit }) => {
        emit.words({ word: values.text });
        // @ts-expect-error the field is a text
        emit.words({ word: 1 });
        // @ts-expect-error a field is missing
        emit.words({});
        // @ts-expect-error it has no field of that name
        emit.words({ word: values.text, length: 4 });
        // @ts-expect-error it has no stream `lines`
        emit.lines?.({ text: "" });
        // @ts-expect-error its input has no field `word`
        values.word;
      },
    });
  });
});

describe("a bolt with several inputs", () => {
  it("knows by the stream's name which fields a tuple has", () => {
    const told = bolt({
      inputs: { lines: { text: field.text }, words: { word: field.text } },
      execute: (tuple) => (tuple.stream === "lines" ? tuple.values.text : tuple.values.word),
    });
    const built = both
      .bolt("told", told, {
        from: { "sentences.lines": grouping.shuffle(), "split.words": grouping.fields("word") },
      })
      .build();
    expect(built.blueprint.subscriptions.map(({ to }) => to)).toEqual(["split", "told", "told"]);
  });

  it("cannot read a stream of another name, nor one that lacks a field", () => {
    const renamed = spout({ streams: { words: { wort: field.text } }, next: () => undefined });
    const wrong = topology("wrong")
      .spout("renamed", renamed)
      // @ts-expect-error the field is called `wort`
      .bolt("joined", joined, { from: { "renamed.words": grouping.shuffle() } });
    expect(problemsOf(wrong)).toEqual(["joined: reads the field word, which renamed.words does not carry"]);
  });
});

describe("a topology that cannot be built", () => {
  it("has no spout", () => {
    expect(problemsOf(topology("empty"))).toEqual(["undefined: it has no spout, so no tuple ever comes in"]);
  });

  it("has a cycle of bolts that no spout leads to", () => {
    const pass = bolt({ input: N, streams: { passed: N }, execute: () => undefined });
    const cycle = topology("cycle")
      .spout("source", new Source().spout)
      .bolt("one", pass)
      .bolt("two", pass, { from: { "one.passed": grouping.shuffle() } })
      .subscribe("two.passed", "one");
    expect(problemsOf(cycle)).toEqual([
      "one: no spout leads to it, by way of two.passed",
      "two: no spout leads to it, by way of one.passed",
    ]);
  });

  it("has a bolt that reads nothing", () => {
    expect(problemsOf(begun.bolt("split", split))).toEqual(["split: reads no stream"]);
  });

  it("has two components of one name", () => {
    const twice = begun.bolt("sentences", split, { from: { "sentences.lines": grouping.shuffle() } });
    expect(problemsOf(twice)).toContain("sentences: there are two components of this name");
  });

  it("has the same subscription twice", () => {
    expect(problemsOf(both.subscribe("sentences.lines", "split", grouping.all()))).toEqual([
      "split: subscribes to sentences.lines twice",
    ]);
  });

  it("has a subscription that is no grouping", () => {
    const wrong = begun.bolt("split", split, { from: { "sentences.lines": "shuffle" as never } });
    expect(problemsOf(wrong)[0]).toMatch(
      /its subscription to sentences\.lines must be a grouping, such as shuffle\(\)/,
    );
    const other = begun.bolt("split", split, { from: { "sentences.lines": { anchor: true } as never } });
    expect(problemsOf(other)[0]).toMatch(/\{ grouping, anchored \}/);
  });

  it.each([0, -1, 1.5, Number.NaN, "2"])("has %s tasks", (tasks) => {
    const wrong = topology("tasks").spout("source", sentences, { tasks: tasks as number });
    expect(problemsOf(wrong)).toContain(`source: tasks must be a whole number, 1 or more; got ${tasks}`);
  });

  it.each([0, 2.5])("has %s executors", (executors) => {
    const wrong = topology("executors").spout("source", sentences, { tasks: 4, executors });
    expect(problemsOf(wrong)).toEqual([
      `source: executors must be a whole number, 1 or more; got ${executors}`,
    ]);
  });

  it("has a bolt with `tick`, and no `tickMs`", () => {
    const ticking = bolt({ input: { text: field.text }, execute: () => undefined, tick: () => undefined });
    const from = { "sentences.lines": grouping.shuffle() };
    expect(problemsOf(begun.bolt("ticking", ticking, { from }))).toEqual([
      "ticking: has a `tick` function, but no period: give `tickMs` in its configuration",
    ]);
    expect(problemsOf(begun.bolt("ticking", ticking, { from, tickMs: 100 }))).toEqual([]);
  });

  it("has ackers without room for the tuples that its spouts may have pending", () => {
    const small = topology("small", { ackerCapacity: 99, maxPending: 10 }).spout("source", sentences, {
      tasks: 5,
    });
    expect(problemsOf(small)[0]).toMatch(/ackerCapacity is 99, but the spouts may have 50 tuples pending/);
    const enough = topology("enough", { ackerCapacity: 100, maxPending: 10 }).spout("source", sentences, {
      tasks: 5,
    });
    expect(problemsOf(enough)).toEqual([]);
  });

  it.each(["", "a b", "a.b", "1st", "__system"])("has a component called %j", (name) => {
    expect(problemsOf(topology("names").spout(name, sentences))[0]).toContain(`${name}: its name must be`);
  });

  it("has unknown or wrong options", () => {
    const wrong = (placement: object): readonly string[] =>
      problemsOf(topology("options").spout("source", sentences, placement));
    expect(wrong({ maxPending: 0 })[0]).toMatch(/^source: its configuration\.maxPending must be/);
    expect(wrong({ maxpending: 5 })[0]).toMatch(
      /^source: its configuration\.maxpending must be absent: did you mean maxPending/,
    );
  });

  it("has no tasks: `executors`, which were not given, are not a second problem", () => {
    const wrong = (placement: object): readonly string[] =>
      problemsOf(topology("options").spout("source", sentences, placement));
    expect(wrong({ tasks: 0 })).toEqual(["source: tasks must be a whole number, 1 or more; got 0"]);
    expect(wrong({ executors: 0 })).toEqual(["source: executors must be a whole number, 1 or more; got 0"]);
    expect(wrong({ tasks: 0, executors: 0.5 })).toHaveLength(2);
  });

  it("has an option at a component that only the whole can have", () => {
    const wrong = topology("options").spout("source", sentences, { messageTimeoutMs: 5_000 } as object);
    expect(problemsOf(wrong)[0]).toMatch(
      /^source: its configuration\.messageTimeoutMs must be absent: there is only/,
    );
  });

  it("gets all of its problems at once, each with its component", () => {
    const wrong = untyped(begun.bolt("count", count, { tasks: 0 })).subscribe(
      "nowhere.words",
      "nobody",
    ) as never as {
      build(): unknown;
    };
    expect(problemsOf(wrong)).toEqual([
      expect.stringMatching(/^nobody: reads nowhere\.words, which no component emits/),
      "count: tasks must be a whole number, 1 or more; got 0",
      "count: reads no stream",
    ]);
    expect(() => wrong.build()).toThrow(
      /^topology words cannot be built: nobody: reads nowhere\.words.*; count: /,
    );
    expect(() => wrong.build()).toThrow(expect.objectContaining({ code: "ERR_TOPOLOGY", topology: "words" }));
  });
});

describe("a wrong definition", () => {
  it("is refused with an OptionError, where it stands", () => {
    const wrong: readonly (() => unknown)[] = [
      () => topology("two words"),
      () => spout({ streams: { lines: { text: "text" } }, next: () => undefined } as never),
      () => spout({ streams: { "a.b": N }, next: () => undefined }),
      () => spout({ streams: { lines: N } } as never),
      () => spout({ streams: { dead: N }, next: () => undefined }),
      () => spout(undefined as never),
      () => bolt({ execute: () => undefined } as never),
      () => bolt({ input: N, inputs: { numbers: N }, execute: () => undefined } as never),
      () => bolt({ input: N } as never),
      () => bolt({ input: N, execute: () => undefined, mode: "auto" } as never),
      () => bolt({ input: N, execute: () => undefined, tick: 100 } as never),
      () => bolt({ input: N, execute: () => undefined, config: { ticks: 1 } } as never),
      () => spoutFrom("text" as never, { fields: { text: field.text } }),
    ];
    for (const define of wrong) expect(define).toThrow(OptionError);
  });
});

describe("a loop", () => {
  it("is closed by a subscription to a bolt that is there already, and works", async () => {
    await using stage = new Stage();
    const source = new Source([5]);
    const seen: number[] = [];
    const down = bolt({
      input: N,
      streams: { less: N, zero: N },
      execute: ({ values: { n } }, { emit }) => {
        seen.push(n);
        if (n === 0) emit.zero({ n });
        else emit.less({ n: n - 1 });
      },
    });
    const keeper = new Keeper();
    await stage.start(
      topology("countdown")
        .spout("source", source.spout)
        .bolt("down", down, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .bolt("keeper", keeper.bolt, { from: { "down.zero": grouping.shuffle() } })
        .subscribe("down.less", "down", grouping.fields("n"))
        .build(),
    );
    expect(seen).toEqual([5, 4, 3, 2, 1, 0]);
    expect(source.outcomes).toEqual([]);
    keeper.last.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([[5, "acked"]]);
  });
});

describe("a merge", () => {
  it("takes in another topology's components, under its own name and options, and subscriptions lead across", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([7]), new Keeper()];
    const pass = bolt({
      input: N,
      streams: { passed: N },
      execute: ({ values }, { emit }) => emit.passed(values),
    });
    const front = topology("front", { maxPending: 3 }).spout("source", source.spout);
    const back = topology("back", { maxPending: 9 })
      .spout("other", new Source().spout)
      .bolt("pass", pass, { from: { "other.numbers": grouping.shuffle() } })
      .bolt("keeper", keeper.bolt, { from: { "pass.passed": grouping.shuffle() } });
    const merged = front.merge(back).subscribe("source.numbers", "pass").build();
    expect(merged.name).toBe("front");
    expect(merged.blueprint.components.map(({ name, config }) => [name, config.maxPending])).toEqual([
      ["source", 3],
      ["other", 3],
      ["pass", 3],
      ["keeper", 3],
    ]);
    await stage.start(merged);
    keeper.last.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([[7, "acked"]]);
  });

  it("of two builders with a common origin has their common components once", () => {
    const counts = both.bolt("count", count, { from: { "split.words": grouping.fields("word") } });
    const copies = both.bolt("copy", count, { from: { "split.words": grouping.shuffle() } });
    const { blueprint } = counts.merge(copies).build();
    expect(blueprint.components.map(({ name }) => name)).toEqual(["sentences", "split", "count", "copy"]);
    expect(blueprint.subscriptions).toHaveLength(3);
  });

  it("of two that have a name in common is refused", () => {
    expect(problemsOf(begun.merge(topology("other").spout("sentences", sentences)))).toEqual([
      "sentences: there are two components of this name",
    ]);
  });
});

describe("a builder", () => {
  it("is never changed: each method gives a new one", () => {
    const before = topology("same").spout("sentences", sentences);
    before.bolt("split", split, { from: { "sentences.lines": grouping.shuffle() } });
    expect(before.build().blueprint.components).toHaveLength(1);
  });

  it("by default gives each bolt one task, each task an executor, and each subscription `shuffle`", () => {
    const { components, subscriptions } = topology("plain")
      .spout("sentences", sentences)
      .bolt("split", split, { tasks: 6, from: { "sentences.lines": {} } })
      .bolt("count", count, { tasks: 6, executors: 2, from: { "split.words": grouping.shuffle() } })
      .build().blueprint;
    expect(components.map(({ tasks, executors }) => [tasks, executors])).toEqual([
      [1, 1],
      [6, 6],
      [6, 2],
    ]);
    expect(subscriptions[0]).toMatchObject({
      from: "sentences",
      stream: "lines",
      to: "split",
      anchored: true,
    });
    expect(subscriptions[0]?.grouping.label).toBe("shuffle");
  });
});
