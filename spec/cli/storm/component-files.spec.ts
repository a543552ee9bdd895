// The files that the programs of shell components name: which go into the jar, and which cannot.

import { expect, test } from "vitest";
import { Misuse } from "../../../lib/cli/shell/arguments.js";
import { folders } from "../../../lib/cli/shell/folders.js";
import { addComponentFiles, resourcesOf } from "../../../lib/cli/storm/component-files.js";
import { folderWith } from "./support.js";

type Contents = Readonly<Record<string, string>>;

/** The files that a program adds to those of folders called `given`, in a folder with these files. */
function filesOf(
  contents: Contents,
  command: string,
  args: readonly string[],
  given: readonly string[] = [],
): Contents {
  const at = folderWith(contents);
  const resources = resourcesOf(
    given.map((one) => at(one)),
    folders,
  );
  const programs = [{ component: "split", command, args }];
  addComponentFiles(resources, programs, [at("topo"), at()], folders);
  return Object.fromEntries([...resources].map(([path, bytes]) => [path, new TextDecoder().decode(bytes)]));
}

const SPLIT = { "topo/split.py": "near", "split.py": "far", "py/more.py": "more" };

test("are those that exist below the folder of the topology, or the working folder [N1466]", () => {
  expect(filesOf(SPLIT, "python3", ["-u", "split.py"])).toEqual({ "split.py": "near" });
  expect(filesOf(SPLIT, "python3", ["./py/../py/more.py", "-v"])).toEqual({ "py/more.py": "more" });
  expect(filesOf(SPLIT, "python3", ["-c", "import split", "words", ""])).toEqual({});
  expect(filesOf({ "topo/words.txt": "a" }, "cat", ["words.txt"])).toEqual({ "words.txt": "a" });
  expect(filesOf(SPLIT, "/usr/bin/python3", ["split.py"])).toEqual({ "split.py": "near" });
});

test("may be in a folder that is given, by their path there [N1466]", () => {
  const contents = { "deps/lib/split.py": "given", "deps/lib/__pycache__/split.pyc": "", "deps/a.pyc": "" };
  expect(filesOf(contents, "python3", ["lib/split.py"], ["deps"])).toEqual({ "lib/split.py": "given" });
});

test.each<[string, Contents, string, string[], string]>([
  ["absent", {}, "python3", ["split.py"], "split: its argument split.py is a file that is in none of"],
  ["outside", SPLIT, "python3", ["../split.py"], "split: its argument ../split.py is outside of the folder"],
  ["far outside", {}, "python3", ["a/../../split.py"], "is outside of the folder of the topology"],
  [
    "of this machine",
    {},
    "python3",
    ["/srv/split.py"],
    "its argument /srv/split.py is a path of this machine",
  ],
  ["of another machine", {}, "python3", ["C:\\srv\\split.py"], "is a path of this machine"],
  [
    "run by itself",
    { "topo/bin/split.sh": "" },
    "bin/split.sh",
    [],
    'split: its command bin/split.sh is a file of the project, and Storm unpacks files so that they cannot be run; start it by its language instead, such as command: "bash"',
  ],
])("one that is %s is refused, with what to do instead [N1466]", (_what, contents, command, args, text) => {
  expect(() => filesOf(contents, command, args)).toThrow(Misuse);
  expect(() => filesOf(contents, command, args)).toThrow(text);
  if (args.length > 0) expect(() => filesOf(contents, command, args)).toThrow("--resources");
});

const STREAMPARSE = {
  "topo/src/bolts/__init__.py": "",
  "topo/src/bolts/words.py": "words",
  "topo/src/bolts/__pycache__/words.cpython-312.pyc": "",
  "topo/src/common.py": "common",
};
const SOURCES = { "bolts/__init__.py": "", "bolts/words.py": "words", "common.py": "common" };

test.each([
  ["streamparse_run", ["bolts.words.WordCount"]],
  ["/opt/venv/bin/streamparse_run", ["bolts.words.WordCount"]],
  ["python3", ["-m", "streamparse.run", "bolts.words.WordCount"]],
])("of streamparse are all below src: %s [N1467]", (command, args) => {
  expect(filesOf(STREAMPARSE, command, args)).toEqual(SOURCES);
});

test("of streamparse may be given, and are refused where there are none [N1467]", () => {
  const given = { "deps/bolts/words.py": "given" };
  expect(filesOf(given, "streamparse_run", ["bolts.words.WordCount"], ["deps"])).toEqual({
    "bolts/words.py": "given",
  });
  expect(() => filesOf(STREAMPARSE, "streamparse_run", ["bolts.lines.Lines"])).toThrow(
    "split: its class bolts.lines.Lines is in no file src/bolts/lines.py below",
  );
});

test("of the same path are refused when they differ, and so are those that signalbox writes", () => {
  const two = { "a/x.py": "1", "b/x.py": "2", "c/x.py": "1", "d/topology.mjs": "", "e/component.mjs": "" };
  expect(filesOf(two, "true", [], ["a", "c"])).toEqual({ "x.py": "1" });
  expect(() => filesOf(two, "true", [], ["a", "b"])).toThrow(/x\.py of .*b: another file is of this path/);
  for (const folder of ["d", "e"])
    expect(() => filesOf(two, "true", [], [folder])).toThrow("signalbox writes a file of this path");
  expect(() => filesOf(two, "true", [], ["none"])).toThrow("there is no such folder");
});
