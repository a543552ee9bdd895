// The floors and rooms of lib (docs/decisions/0020). A floor is a folder of lib and imports only from floors below it.
// The rooms of a floor are the folders in it; no two of them import each other, not even in a circle or for a type.

import { describe, expect, test } from "vitest";
import { example, filesImportedBy, importsOf, lib, type Source } from "./modules.js";

/** From the ground up; `.` is the files of lib itself. */
const FLOORS = [
  ...["process", "graph", "behaviour", "supervisor", "dispatch", "store", "topology", "."],
  ...["admin", "host", "node", "flow", "service", "pipeline", "otel", "xstate", "testing", "observer", "cli"],
];

function upwardImports(source: Source): string[] {
  const floorOf = (path: string): number => {
    const [, folder, file] = path.split("/");
    return FLOORS.indexOf(file === undefined ? "." : (folder as string));
  };
  const here = floorOf(source.path);
  if (here < 0) return [`${source.path}: no floor has this name; give the folder its place in FLOORS`];
  return filesImportedBy(source)
    .filter((path) => floorOf(path) > here || floorOf(path) < 0)
    .map((path) => `${source.path} imports ${path}, which is not below it`);
}

/** Where a floor may be entered from another one: only in these files, although it is below. */
const DOORS = [{ from: "lib/pipeline/", to: "lib/flow/", door: "lib/pipeline/adapters/flow.ts" }];

function importsPastDoors(source: Source): string[] {
  return DOORS.filter(({ from, door }) => source.path.startsWith(from) && source.path !== door).flatMap(
    ({ to, door }) =>
      filesImportedBy(source)
        .filter((path) => path.startsWith(to))
        .map((path) => `${source.path} imports ${path}: only ${door} may`),
  );
}

/** The folders that hold rooms, lib itself excepted: its rooms are the floors. */
function foldersWithRooms(sources: readonly Source[]): string[] {
  const folders = sources.map(({ path }) => path.slice(0, path.lastIndexOf("/")));
  const parents = folders.map((folder) => folder.slice(0, folder.lastIndexOf("/")));
  return [...new Set(parents)].filter((folder) => folder.startsWith("lib/")).sort();
}

/**
 * Circles between the rooms of a folder. The files directly in the folder are a room of their own, and so is its `index.ts`, the map
 * of all rooms.
 */
function circlesBetweenRooms(folder: string, sources: readonly Source[]): string[] {
  const roomOf = (path: string): string | undefined => {
    if (!path.startsWith(`${folder}/`)) return undefined;
    const rest = path.slice(folder.length + 1).split("/");
    return rest.length > 1 || /^index\.[jt]s$/.test(rest[0] as string)
      ? (rest[0] as string).replace(/\.[jt]s$/, "")
      : ".";
  };
  const edges = new Map<string, Map<string, string>>();
  for (const source of sources) {
    const from = roomOf(source.path);
    if (from === undefined) continue;
    for (const path of filesImportedBy(source)) {
      const to = roomOf(path);
      if (to === undefined || to === from) continue;
      const targets = edges.get(from) ?? new Map<string, string>();
      if (!targets.has(to)) targets.set(to, `${source.path} -> ${path}`);
      edges.set(from, targets);
    }
  }
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (room: string, trail: readonly string[], shown: readonly string[]): void => {
    const at = trail.indexOf(room);
    if (at >= 0) circles.push(shown.slice(at).join(", "));
    if (at >= 0 || done.has(room)) return;
    for (const [next, edge] of edges.get(room) ?? []) visit(next, [...trail, room], [...shown, edge]);
    done.add(room);
  };
  for (const room of edges.keys()) visit(room, [], []);
  return circles;
}

test("the parser sees the library", () => {
  expect(lib.length).toBeGreaterThan(100);
  expect(lib.flatMap(importsOf).length).toBeGreaterThan(500);
});

describe("a floor imports only from floors below it", () => {
  test("in all of lib", () => {
    expect(lib.flatMap(upwardImports)).toEqual([]);
  });

  test.each([
    ["lib/process/a.ts", "../behaviour/b.js"],
    ["lib/process/a.ts", "../system.js"],
    ["lib/behaviour/a.ts", "../supervisor/index.js"],
    ["lib/supervisor/a.ts", "../dispatch/b.js"],
    ["lib/dispatch/a.ts", "../index.js"],
    ["lib/dispatch/a.ts", "../cellar/b.js"],
    ["lib/topology/views/a.ts", "../../testing/b.js"],
    ["lib/cellar/a.ts", "./b.js"],
  ])("the rule rejects: %s imports %s", (path, module) => {
    expect(upwardImports(example(`import { b } from "${module}";`, path))).toHaveLength(1);
    expect(upwardImports(example(`export type { B } from "${module}";`, path))).toHaveLength(1);
    expect(upwardImports(example(`const b = import("${module}");`, path))).toHaveLength(1);
  });

  test.each([
    ["lib/process/a.ts", "./b.js"],
    ["lib/supervisor/a.ts", "../behaviour/b.js"],
    ["lib/dispatch/a.ts", "../supervisor/b.js"],
    ["lib/index.ts", "./dispatch/index.js"],
    ["lib/system.ts", "eventemitter3"],
  ])("the rule accepts: %s imports %s", (path, module) => {
    expect(upwardImports(example(`import { b } from "${module}";\n// from "../../index.js"`, path))).toEqual(
      [],
    );
  });
});

describe("a floor that has a door is entered there alone", () => {
  test("in all of lib", () => {
    expect(lib.flatMap(importsPastDoors)).toEqual([]);
    for (const { door, to } of DOORS) {
      const [file] = lib.filter(({ path }) => path === door);
      expect(filesImportedBy(file as Source).some((path) => path.startsWith(to))).toBe(true);
    }
  });

  test("the rule rejects another file, and accepts the door", () => {
    const text = 'import type { FlowHost } from "../../flow/index.js";';
    expect(importsPastDoors(example(text, "lib/pipeline/runtime/a.ts"))).toHaveLength(1);
    expect(importsPastDoors(example(text, "lib/pipeline/adapters/flow.ts"))).toEqual([]);
  });
});

describe("no circle joins the rooms of a floor", () => {
  test.each(foldersWithRooms(lib))("in %s", (folder) => {
    expect(circlesBetweenRooms(folder, lib)).toEqual([]);
  });

  test("there are rooms to look at", () => {
    expect(foldersWithRooms(lib)).toEqual(expect.arrayContaining(["lib/testing", "lib/topology"]));
  });

  test("the rule rejects a circle of two rooms, and one through the files of the floor itself", () => {
    const tracking = example(
      'import type { Field } from "../definition/field.js";',
      "lib/a/tracking/acker.ts",
    );
    const definition = example('import { index } from "../index.js";', "lib/a/definition/field.ts");
    const index = example('export * from "./tracking/acker.js";', "lib/a/index.ts");
    expect(circlesBetweenRooms("lib/a", [tracking, definition])).toEqual([]);
    expect(circlesBetweenRooms("lib/a", [tracking, definition, index])).toEqual([
      "lib/a/tracking/acker.ts -> lib/a/definition/field.js, " +
        "lib/a/definition/field.ts -> lib/a/index.js, lib/a/index.ts -> lib/a/tracking/acker.js",
    ]);
    const back = example('import { Acker } from "../tracking/acker.js";', "lib/a/definition/tuple.ts");
    expect(circlesBetweenRooms("lib/a", [tracking, back])).toHaveLength(1);
  });

  test("the rule looks into rooms within rooms", () => {
    const host = example('import { b } from "../program/b.js";', "lib/a/multilang/host/a.ts");
    const program = example('import type { A } from "../host/a.js";', "lib/a/multilang/program/b.ts");
    expect(foldersWithRooms([host, program])).toEqual(["lib/a/multilang"]);
    expect(circlesBetweenRooms("lib/a/multilang", [host, program])).toHaveLength(1);
  });
});

/** The largest circle of files in a floor that import each other, types included. The files of a circle cannot be read one by one. */
function largestCircle(floor: string, sources: readonly Source[]): string[] {
  const files = new Map(
    sources
      .filter(({ path }) => path.startsWith(floor))
      .map((source) => [source.path.replace(/\.tsx?$/, ".js"), filesImportedBy(source)] as const),
  );
  const reachable = (from: string): Set<string> => {
    const seen = new Set<string>();
    const next = [from];
    for (let file = next.pop(); file !== undefined; file = next.pop())
      for (const to of files.get(file) ?? [])
        if (files.has(to) && !seen.has(to)) {
          seen.add(to);
          next.push(to);
        }
    return seen;
  };
  const reached = new Map([...files.keys()].map((file) => [file, reachable(file)]));
  const circles = [...reached].map(([file, seen]) =>
    [...seen].filter((other) => reached.get(other)?.has(file) === true),
  );
  return circles.reduce((largest, one) => (one.length > largest.length ? one : largest), []).sort();
}

/** Floors with a circle of types, and its size (docs/decisions/0194). Lower the number when a circle gets smaller. */
const CIRCLES: { readonly [floor: string]: number } = {
  process: 19,
  dispatch: 5,
  topology: 7,
  testing: 3,
  flow: 8,
  pipeline: 8,
  service: 6,
  store: 3,
};

describe("the files of a floor import each other in no circle, or in a known one", () => {
  test.each(FLOORS.filter((floor) => floor !== "."))("in %s", (floor) => {
    const circle = largestCircle(`lib/${floor}/`, lib);
    expect(circle.length, circle.join("\n")).toBe(CIRCLES[floor] ?? 0);
  });

  test("what every file may need is in none", () => {
    const low = [
      "pid",
      "inbox",
      "bound",
      "inspected",
      "exit-reason",
      "reason",
      "errors",
      "show",
      "entries",
      "events",
      "options",
      "environment",
    ];
    const circle = largestCircle("lib/process/", lib);
    expect(low.filter((name) => circle.includes(`lib/process/${name}.js`))).toEqual([]);
  });

  test("the rule sees a circle, also one of types", () => {
    const a = example('import { b } from "./b.js";', "lib/a/a.ts");
    const b = example('import { c } from "./c.js";', "lib/a/b.ts");
    const back = example('import type { A } from "./a.js";', "lib/a/c.ts");
    expect(largestCircle("lib/a/", [a, b, back])).toEqual(["lib/a/a.js", "lib/a/b.js", "lib/a/c.js"]);
    expect(largestCircle("lib/a/", [a, b])).toEqual([]);
  });
});
