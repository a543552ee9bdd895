// What a power loss can leave: all of it, and nothing besides, against a model that replays the whole history.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import * as machine from "../../../lib/testing/devices/disk-contents.js";
import { Random } from "../../../lib/testing/kit/random.js";
import { FaultDraws } from "../../../lib/testing/strategies/swarm.js";
import { proving } from "../../support/proof.js";
import { slack } from "../support/toy.js";
import { bytes, results, text } from "./disk-support.js";

/** A disk whose changes have a fate of their own, unless it is said otherwise. */
const emptyDisk = (sector: number, model: Partial<machine.DiskModel> = {}): machine.Disk =>
  machine.emptyDisk({ sector, ordered: false, journaled: false, ...model });

type Step =
  | {
      readonly type: "write";
      readonly file: string;
      readonly offset: number | "end";
      readonly length: number;
    }
  | { readonly type: "truncate"; readonly file: string; readonly size: number }
  | { readonly type: "remove"; readonly file: string }
  | { readonly type: "rename"; readonly file: string; readonly to: string }
  /** Ends before the step that is `lasts` after it. */
  | {
      readonly type: "sync";
      readonly of: string | undefined;
      readonly all: "directory" | "everything";
      readonly lasts: number;
      readonly failed: boolean;
    };

/** What is written in the step of this index: another letter for each. */
const written = (index: number, length: number): string =>
  String.fromCharCode(97 + (index % 26)).repeat(length);

/** Content of all files, as one text that can be compared. */
const picture = (files: Iterable<readonly [string, string]>): string =>
  JSON.stringify([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
const look = (disk: machine.Disk): string =>
  picture(machine.names(disk).map((name) => [name, text(machine.content(disk, name)) as string]));

/** Carries the steps out, syncs included that end by then. */
function carriedOut(steps: readonly Step[], sector: number, from = emptyDisk(sector)): machine.Disk {
  let disk = from;
  let open: { readonly sync: machine.Sync; readonly ends: number; readonly failed: boolean }[] = [];
  const land = (now: number): void => {
    for (const { sync, failed } of open.filter(({ ends }) => ends <= now).sort((a, b) => a.ends - b.ends))
      disk = machine.synced(disk, sync, failed);
    open = open.filter(({ ends }) => ends > now);
  };
  for (const [index, step] of steps.entries()) {
    land(index);
    if (step.type === "write")
      disk = machine.write(disk, step.file, step.offset, bytes(written(index, step.length)));
    else if (step.type === "truncate") disk = machine.truncate(disk, step.file, step.size) ?? disk;
    else if (step.type === "remove") disk = machine.remove(disk, step.file) ?? disk;
    else if (step.type === "rename") disk = machine.rename(disk, step.file, step.to) ?? disk;
    else {
      const sync = step.of === undefined ? machine.syncOfAll(disk, step.all) : machine.syncOf(disk, step.of);
      if (sync !== undefined) open.push({ sync, ends: index + 1 + step.lasts, failed: step.failed });
    }
  }
  land(steps.length);
  return disk;
}

/** What the crash of a disk can leave. */
const left = (disk: machine.Disk): Set<string> =>
  new Set(results((choose) => look(machine.crash(disk, choose)[0])));

// ── the model: no cache, no platter; a history, and for every change in it the ways in which it may have come out ───

interface World {
  readonly names: Readonly<Record<string, number>>;
  readonly contents: Readonly<Record<number, string>>;
}
interface Deed {
  readonly at: number;
  /** Number of the file, or the directory. */
  readonly on: number | "directory";
  /** The first is how it was meant. */
  readonly ways: readonly ((world: World) => World)[];
}

const unchanged = (world: World): World => world;
const without = (names: World["names"], gone: (name: string, file: number) => boolean): World["names"] =>
  Object.fromEntries(Object.entries(names).filter(([name, file]) => !gone(name, file)));
const edit =
  (file: number, change: (content: string) => string) =>
  (world: World): World => ({
    ...world,
    contents: { ...world.contents, [file]: change(world.contents[file] ?? "") },
  });
const pad = (content: string, size: number): string => content.padEnd(size, "\0");
const link =
  (name: string, file: number) =>
  (world: World): World => ({
    ...world,
    names: { ...without(world.names, (_, other) => other === file), [name]: file },
  });

/** Every way in which a write can come out. */
function waysToWrite(file: number, at: number, what: string, sector: number): Deed["ways"] {
  const put = (length: number): ((world: World) => World) =>
    edit(file, (old) => pad(old, at).slice(0, at) + what.slice(0, length) + old.slice(at + length));
  const lengths = [...what].map((_, index) => index).filter((cut) => cut > 0 && (at + cut) % sector === 0);
  return [put(what.length), unchanged, ...lengths.map(put), edit(file, (old) => pad(old, at + what.length))];
}

/** Pictures of all that can be found after a crash at the end of these steps. */
function imaginable(steps: readonly Step[], sector: number): Set<string> {
  let seen: World = { names: {}, contents: {} };
  const deeds: Deed[] = [];
  const syncs: { covers: (deed: Deed) => boolean; ends: number; failed: boolean }[] = [];
  const doing = (at: number, on: Deed["on"], ...ways: Deed["ways"]): void => {
    deeds.push({ at, on, ways });
    seen = (ways[0] as Deed["ways"][number])(seen);
  };
  for (const [at, step] of steps.entries()) {
    if (step.type === "sync") {
      const file = step.of === undefined ? undefined : seen.names[step.of];
      if (step.of !== undefined && file === undefined) continue;
      const covers = ({ at: when, on }: Deed): boolean =>
        when < at && (file === undefined ? on === "directory" || step.all === "everything" : on === file);
      syncs.push({ covers, ends: at + 1 + step.lasts, failed: step.failed });
      continue;
    }
    if (step.type === "write" && seen.names[step.file] === undefined)
      doing(at, "directory", link(step.file, at), unchanged);
    const file = seen.names[step.file];
    if (file === undefined) continue;
    if (step.type === "write") {
      const offset = step.offset === "end" ? (seen.contents[file] ?? "").length : step.offset;
      if (step.length > 0) doing(at, file, ...waysToWrite(file, offset, written(at, step.length), sector));
    } else if (step.type === "truncate") {
      const cut = edit(file, (old) => pad(old, step.size).slice(0, step.size));
      doing(at, file, cut, unchanged);
    } else if (step.type === "rename") {
      if (step.to !== step.file) doing(at, "directory", link(step.to, file), unchanged);
    } else {
      const gone = (world: World): World => ({
        ...world,
        names: without(world.names, (name) => name === step.file),
      });
      doing(at, "directory", gone, unchanged);
    }
  }
  let worlds = new Map<string, World>([["", { names: {}, contents: {} }]]);
  for (const deed of deeds) {
    const first = syncs
      .filter(({ covers, ends }) => covers(deed) && ends <= steps.length)
      .sort((a, b) => a.ends - b.ends)[0];
    const ways = first?.failed === false ? deed.ways.slice(0, 1) : deed.ways;
    const after = [...worlds.values()].flatMap((world) => ways.map((way) => way(world)));
    worlds = new Map(after.map((world) => [JSON.stringify(world), world]));
  }
  const pictures = [...worlds.values()].map(({ names, contents }) =>
    picture(Object.entries(names).map(([name, file]) => [name, contents[file] ?? ""])),
  );
  return new Set(pictures);
}

// ── properties ──────────────────────────────────────────────────────────────────────────────────────────────────────

const steps = (files: readonly string[], most: number, longest: number): fc.Arbitrary<Step[]> => {
  const file = fc.constantFrom(...files);
  const write = fc.record({
    type: fc.constant("write" as const),
    file,
    offset: fc.oneof(fc.constant("end" as const), fc.nat({ max: 3 })),
    length: fc.nat({ max: longest }),
  });
  const sync = fc.record({
    type: fc.constant("sync" as const),
    of: fc.option(file, { nil: undefined }),
    all: fc.constantFrom("directory" as const, "everything" as const),
    lasts: fc.nat({ max: 2 }),
    failed: fc.boolean(),
  });
  const step = fc.oneof(
    { arbitrary: write, weight: 5 },
    { arbitrary: sync, weight: 4 },
    {
      arbitrary: fc.record({ type: fc.constant("truncate" as const), file, size: fc.nat({ max: 4 }) }),
      weight: 1,
    },
    { arbitrary: fc.record({ type: fc.constant("remove" as const), file }), weight: 1 },
    { arbitrary: fc.record({ type: fc.constant("rename" as const), file, to: file }), weight: 2 },
  );
  return fc.array(step, { minLength: 1, maxLength: most });
};
const sector = fc.constantFrom(1, 2, 3);
/** Choices from a list, and 0 after its end. */
const from = (list: readonly number[]): machine.Choose => {
  let at = 0;
  return (n) => (list[at++] ?? 0) % n;
};
const choices = fc.array(fc.nat({ max: 4 }), { maxLength: 40 });
const nothing: machine.Choose = () => 0;

describe("a power loss", () => {
  check.prop([steps(["a", "b"], 6, 3), sector], { numRuns: proving ? 2_000 : 600 })(
    "leaves what the changes not synced can explain, all of that, and nothing else",
    (history, size) => {
      expect([...left(carriedOut(history, size))].sort()).toEqual([...imaginable(history, size)].sort());
    },
  );

  check.prop([steps(["a", "b", "c"], 60, 20), sector])("loses nothing by the choices 0", (history, size) => {
    const disk = carriedOut(history, size);
    const [after, losses] = machine.crash(disk, nothing);
    expect(look(after)).toBe(look(disk));
    expect(losses).toEqual([]);
  });

  check.prop([steps(["a", "b"], 30, 20), steps(["c", "d"], 30, 20), sector, choices])(
    "never takes what was synced, whatever is done to other files afterwards",
    (before, after, size, list) => {
      const kept = carriedOut(
        before.filter(({ type }) => type !== "sync"),
        size,
      );
      const safe = machine.synced(kept, machine.syncOfAll(kept, "everything"), false);
      const [found] = machine.crash(carriedOut(after, size, safe), from(list));
      for (const name of ["a", "b"]) {
        expect(text(machine.content(found, name))).toBe(text(machine.content(kept, name)));
      }
    },
  );

  check.prop([steps(["a", "b"], 30, 20), sector, choices])(
    "leaves a disk with nothing to lose",
    (history, size, list) => {
      const [after] = machine.crash(carriedOut(history, size), from(list));
      expect(left(after)).toEqual(new Set([look(after)]));
      expect(after.files.size).toBe(machine.names(after).length);
    },
  );

  check.prop([steps(["a", "b"], 30, 20), sector, choices])(
    "names a loss for each choice that was not 0, and for no other",
    (history, size, list) => {
      let fates = 0;
      const choose = from(list);
      const [, losses] = machine.crash(carriedOut(history, size), (n, label) => {
        const choice = choose(n, label);
        if (label.startsWith("loss:") && choice > 0) fates++;
        return choice;
      });
      expect(losses).toHaveLength(fates);
    },
  );

  check.prop([steps(["a", "b"], 30, 20), steps(["a", "b"], 30, 20), sector])(
    "changes nothing of the state it was given, nor does any step",
    (before, after, size) => {
      const disk = carriedOut(before, size);
      const seen = look(disk);
      const worst = look(machine.crash(disk, () => 1)[0]);
      machine.crash(carriedOut(after, size, disk), () => 1);
      expect(look(disk)).toBe(seen);
      expect(look(machine.crash(disk, () => 1)[0])).toBe(worst);
    },
  );
});

// ── examples ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A disk on which `log` is durable with this content. */
function withLog(content: string, size = 1, model: Partial<machine.DiskModel> = {}): machine.Disk {
  const disk = machine.write(emptyDisk(size, model), "log", 0, bytes(content));
  return machine.synced(disk, machine.syncOfAll(disk, "everything"), false);
}
const contents = (disk: machine.Disk, name = "log"): Set<string | undefined> =>
  new Set(results((choose) => text(machine.content(machine.crash(disk, choose)[0], name))));

describe("a write that was not synced", () => {
  test("survives, is lost, is cut short at any byte, or leaves zeros where the file grew", () => {
    const disk = machine.write(withLog("ab"), "log", "end", bytes("cde"));
    expect(contents(disk)).toEqual(new Set(["abcde", "ab", "abcd", "abc", "ab\0\0\0"]));
  });

  test("leaves no zeros where the file had bytes already", () => {
    expect(contents(machine.write(withLog("abc"), "log", 1, bytes("xy")))).toEqual(
      new Set(["axy", "abc", "axc"]),
    );
  });

  test("offers no fate that would be the same as another", () => {
    const asked = (offset: number, size: number, length = 1): string[] => {
      const labels: string[] = [];
      const written = machine.write(withLog("abc", size), "log", offset, bytes("x".repeat(length)));
      machine.crash(written, (n, label) => {
        if (label.startsWith("loss:")) return 1;
        labels.push(`of ${n}`);
        return 0;
      });
      return labels;
    };
    expect(asked(2, 1)).toEqual([]);
    expect(asked(1, 1, 2)).toEqual(["of 2"]);
    expect(asked(3, 1)).toEqual(["of 2"]);
    expect(asked(2, 1, 2)).toEqual(["of 3"]);
    expect(asked(2, 512, 2)).toEqual(["of 2"]);
  });

  test("within one sector survives or not, as disks promise for 512 bytes", () => {
    const disk = machine.write(withLog("a".repeat(10), 512), "log", 2, bytes("bcd"));
    expect(contents(disk)).toEqual(new Set(["a".repeat(10), "aabcdaaaaa"]));
  });

  test("over several sectors is cut between them, counted from the beginning of the file", () => {
    const disk = machine.write(withLog("0123456789", 4), "log", 3, bytes("abcdef"));
    expect(contents(disk)).toEqual(new Set(["012abcdef9", "0123456789", "012a456789", "012abcde89"]));
  });

  test("has a fate of its own: the second may survive without the first", () => {
    const first = machine.write(withLog(""), "log", "end", bytes("1"));
    const both = machine.write(first, "log", "end", bytes("2"));
    expect(contents(both)).toEqual(new Set(["12", "1", "1\0", "", "\0", "\0\0", "\x002"]));
  });

  test("of no bytes is nothing but the creation of the file", () => {
    const disk = machine.write(emptyDisk(1), "log", 5, bytes(""));
    expect(text(machine.content(disk, "log"))).toBe("");
    expect(left(machine.write(withLog("a"), "log", 5, bytes("")))).toEqual(new Set([look(withLog("a"))]));
  });
});

describe("a truncation that was not synced", () => {
  test("survives or is lost", () => {
    const disk = machine.truncate(withLog("abc"), "log", 1) as machine.Disk;
    expect(text(machine.content(disk, "log"))).toBe("a");
    expect(contents(disk)).toEqual(new Set(["a", "abc"]));
  });

  test("may make the file longer, with zeros", () => {
    expect(contents(machine.truncate(withLog("a"), "log", 3) as machine.Disk)).toEqual(
      new Set(["a\0\0", "a"]),
    );
  });
});

describe("a name", () => {
  test("of a new file is lost unless the directory was synced, however safe its content is", () => {
    const disk = machine.write(emptyDisk(1), "log", 0, bytes("a"));
    const safe = machine.synced(disk, machine.syncOf(disk, "log") as machine.Sync, false);
    expect(contents(safe)).toEqual(new Set(["a", undefined]));
  });

  test("that was removed comes back, with its unsynced changes at risk", () => {
    const disk = machine.write(withLog("ab"), "log", "end", bytes("c"));
    expect(contents(machine.remove(disk, "log") as machine.Disk)).toEqual(
      new Set([undefined, "abc", "ab", "ab\0"]),
    );
  });

  test("given to another file leads to the old content or to the new, never to none", () => {
    const disk = machine.write(withLog("old"), "new", 0, bytes("new"));
    const safe = machine.synced(disk, machine.syncOfAll(disk, "everything"), false);
    const renamed = machine.rename(safe, "new", "log") as machine.Disk;
    expect(left(renamed)).toEqual(new Set(['[["log","new"]]', '[["log","old"],["new","new"]]']));
    const synced = machine.synced(renamed, machine.syncOfAll(renamed, "directory"), false);
    expect(left(synced)).toEqual(new Set(['[["log","new"]]']));
  });

  test("is nothing to lose when the file keeps it", () => {
    const disk = withLog("a");
    expect(machine.rename(disk, "log", "log")).toBe(disk);
  });
});

describe("a sync", () => {
  test("covers the changes before it began", () => {
    const before = machine.write(withLog(""), "log", "end", bytes("1"));
    const sync = machine.syncOf(before, "log") as machine.Sync;
    const after = machine.synced(machine.write(before, "log", "end", bytes("2")), sync, false);
    expect(contents(after)).toEqual(new Set(["12", "1", "1\0"]));
  });

  test("that has not ended is no promise", () => {
    const before = machine.write(withLog(""), "log", "end", bytes("1"));
    machine.syncOf(before, "log");
    expect(contents(before)).toContain("");
  });

  test("follows the file to its new name", () => {
    const before = machine.write(withLog(""), "log", "end", bytes("1"));
    const sync = machine.syncOf(before, "log") as machine.Sync;
    const renamed = machine.rename(before, "log", "old") as machine.Disk;
    expect(machine.nameOf(renamed, sync)).toBe("old");
    expect(left(machine.synced(renamed, sync, false))).toEqual(new Set(['[["old","1"]]', '[["log","1"]]']));
  });

  test("that failed leaves bytes that are read, and that no later sync saves", () => {
    const disk = machine.write(withLog("a"), "log", "end", bytes("b"));
    const failed = machine.synced(disk, machine.syncOf(disk, "log") as machine.Sync, true);
    expect(text(machine.content(failed, "log"))).toBe("ab");
    const again = machine.synced(failed, machine.syncOf(failed, "log") as machine.Sync, false);
    expect(contents(again)).toEqual(new Set(["ab", "a", "a\0"]));
  });

  test("saves data written again after a failed sync", () => {
    const disk = machine.write(withLog("a"), "log", "end", bytes("b"));
    const failed = machine.synced(disk, machine.syncOf(disk, "log") as machine.Sync, true);
    const anew = machine.write(failed, "log", 1, bytes("b"));
    expect(contents(machine.synced(anew, machine.syncOf(anew, "log") as machine.Sync, false))).toEqual(
      new Set(["ab"]),
    );
  });

  test("of the directory that failed leaves names in doubt", () => {
    const disk = machine.remove(withLog("a"), "log") as machine.Disk;
    const failed = machine.synced(disk, machine.syncOfAll(disk, "directory"), true);
    const again = machine.synced(failed, machine.syncOfAll(failed, "everything"), false);
    expect(contents(again)).toEqual(new Set([undefined, "a"]));
  });

  test("of the directory lets go of a file that was removed", () => {
    const disk = machine.remove(withLog("a"), "log") as machine.Disk;
    expect(disk.files.size).toBe(1);
    expect(machine.synced(disk, machine.syncOfAll(disk, "directory"), false).files.size).toBe(0);
  });
});

test("there is nothing to do to a file that is not there", () => {
  const disk = emptyDisk(1);
  expect(machine.content(disk, "log")).toBeUndefined();
  expect(machine.truncate(disk, "log", 0)).toBeUndefined();
  expect(machine.remove(disk, "log")).toBeUndefined();
  expect(machine.rename(disk, "log", "old")).toBeUndefined();
  expect(machine.rename(disk, "log", "log")).toBeUndefined();
  expect(machine.syncOf(disk, "log")).toBeUndefined();
});

test("a power loss describes the changes that it lost", () => {
  let disk = withLog("", 4);
  disk = machine.write(disk, "log", "end", bytes("abcdefghijkl"));
  disk = machine.write(disk, "log", "end", bytes("mn"));
  disk = machine.write(disk, "log", "end", bytes("op"));
  disk = machine.truncate(disk, "log", 2) as machine.Disk;
  disk = machine.write(disk, "tmp", 0, bytes(""));
  disk = machine.rename(disk, "log", "old") as machine.Disk;
  disk = machine.remove(disk, "tmp") as machine.Disk;
  const asked: string[] = [];
  const choose = from([1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1]);
  const [after, losses] = machine.crash(disk, (n, label) => {
    asked.push(`${label} of ${n}`);
    return choose(n, label);
  });
  expect(losses).toEqual([
    "tmp: creation lost",
    "old: renaming from log lost",
    "tmp: removal lost",
    "log: append of 12 bytes torn after 4",
    "log: append of 2 bytes lost",
    "log: append of 2 bytes left as zeros",
    "log: truncation to 2 bytes lost",
  ]);
  expect(asked).toEqual([
    "loss:tmp of 2",
    "loss:old of 2",
    "loss:tmp of 2",
    "loss:log of 2",
    "damage:log of 3",
    "tear:log of 2",
    "loss:log of 2",
    "damage:log of 2",
    "loss:log of 2",
    "damage:log of 2",
    "loss:log of 2",
  ]);
  expect(look(after)).toBe(picture([["log", `abcd${"\0".repeat(12)}`]]));
});

describe("even odds", () => {
  /** Whether the one unsynced write survives, for as many power losses as are asked for. */
  function survivals(many: number): number {
    const random = new Random(7);
    // As every random strategy draws what is no fault.
    const draws = new FaultDraws(random, {});
    const disk = machine.write(withLog("ab"), "log", "end", bytes("cde"));
    let whole = 0;
    for (let i = 0; i < many; i++)
      if (machine.crash(disk, (n, label) => draws.draw(n, label))[1].length === 0) whole++;
    return whole;
  }

  test("decide whether an unsynced change survives, whatever the rates of faults are [T26]", () => {
    const many = 4_000;
    expect(Math.abs(survivals(many) / many - 1 / 2)).toBeLessThan(slack(1 / 2, many));
  });
});

describe("a disk that keeps the order", () => {
  const ordered = { ordered: true };

  test("loses all changes after the first that it loses [T26]", () => {
    let disk = emptyDisk(1, ordered);
    for (const letter of "abc") disk = machine.write(disk, "log", "end", bytes(letter));
    expect(left(disk)).toEqual(
      new Set([
        "[]",
        picture([["log", ""]]),
        ...["a", "ab", "abc", "\0", "a\0", "ab\0"].map((log) => picture([["log", log]])),
      ]),
    );
  });

  test("keeps the order across files", () => {
    let disk = machine.write(withLog("", 1, ordered), "log", "end", bytes("1"));
    disk = machine.write(disk, "data", 0, bytes("2"));
    for (const one of results((choose) => machine.crash(disk, choose)[0]))
      if (machine.content(one, "data") !== undefined) expect(text(machine.content(one, "log"))).toBe("1");
  });

  check.prop([steps(["a", "b"], 20, 6), choices])(
    "leaves what a prefix of the history leaves, but for the change that was under way",
    (history, list) => {
      const disk = carriedOut(
        history.filter(({ type }) => type !== "sync"),
        1,
        emptyDisk(1, ordered),
      );
      const [after, losses] = machine.crash(disk, from(list));
      const prefixes = history.map((_, index) =>
        look(
          carriedOut(
            history.slice(0, index + 1).filter(({ type }) => type !== "sync"),
            1,
          ),
        ),
      );
      if (losses.every((loss) => loss.endsWith(" lost")))
        expect(["[]", ...prefixes, ...halves(history)]).toContain(look(after));
    },
  );

  /** A write to a new file is two changes: its creation, and its bytes. */
  function halves(history: readonly Step[]): string[] {
    return history.flatMap((step, index) => {
      if (step.type !== "write") return [];
      const before = history.slice(0, index).filter(({ type }) => type !== "sync");
      return [look(carriedOut([...before, { ...step, length: 0 }], 1))];
    });
  }
});

describe("a journaled disk", () => {
  const journaled = { journaled: true };

  test("makes the names durable with the sync of any file [T26]", () => {
    let disk = machine.write(emptyDisk(1, journaled), "log", 0, bytes("a"));
    disk = machine.synced(disk, machine.syncOf(disk, "log") as machine.Sync, false);
    expect(left(disk)).toEqual(new Set([picture([["log", "a"]])]));
  });

  test("loses names in their order, and contents in any", () => {
    let disk = machine.write(emptyDisk(1, journaled), "new", 0, bytes("n"));
    disk = machine.rename(disk, "new", "log") as machine.Disk;
    disk = machine.write(disk, "next", 0, bytes(""));
    const found = left(disk);
    expect(found).toContain(picture([["log", "\0"]]));
    for (const one of found) if (one.includes("next")) expect(one).toContain("log");
  });
});
