// `signalbox storm export` and `check`: what they print, and the jar.

import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { expect, test, vi } from "vitest";
import { Misuse } from "../../../lib/cli/shell/arguments.js";
import { EXIT } from "../../../lib/cli/shell/exit.js";
import { temporaryFolder } from "../../../lib/cli/shell/host.js";
import { execute, folderWith, jarTexts, LINES, runStorm } from "./support.js";

/** The topology with a grouping that Storm has no form for. */
const BLOCKED = {
  ...LINES,
  "src/topology.ts": (LINES["src/topology.ts"] as string).replace("grouping.shuffle()", "() => undefined"),
};

test("writes a jar whose bytes depend on the topology alone [N1460]", async () => {
  const jars: Buffer[] = [];
  for (const _ of [1, 2]) {
    const at = folderWith(LINES);
    const done = await runStorm(["export", at("src/topology.ts"), "-o", at("lines.jar")]);
    expect(done).toMatchObject({ code: EXIT.fine, complaints: "" });
    expect(done.printed).toContain(`wrote ${at("lines.jar")}: lines, 1 spout, 1 bolt, `);
    expect(readdirSync(at()).sort()).toEqual(["lines.jar", "src"]);
    jars.push(readFileSync(at("lines.jar")));
  }
  const [first, second] = jars as [Buffer, Buffer];
  expect(first.equals(second)).toBe(true);
  expect(Object.keys(jarTexts(first))).toEqual([
    "META-INF/MANIFEST.MF",
    "resources/component.mjs",
    "resources/topology.mjs",
    "topology.json",
  ]);
});

test("says the next command as a shell takes it", async () => {
  const at = folderWith(LINES);
  const { printed } = await runStorm(["export", at("src/topology.ts"), "-o", at("it's here.jar")]);
  expect(printed).toContain(`next: signalbox storm submit '${at("it'\\''s here.jar")}'`);
});

test("hands every option to the definition, and the version of Node to the program [N1475]", async () => {
  const at = folderWith({ ...LINES, "more/words.txt": "to be" });
  const args = ["--name", "other", "--workers", "3", "--env", "A=1=2", "--env", "B=", "--conf", "a.b=[7]"];
  const more = ["--node", "/opt/node", "--node-version", "22.4", "--subprocess-timeout", "45000"];
  const { code, printed } = await runStorm([
    ...["export", at("src/topology.ts"), "-o", at("x.jar"), "--json", "--export", "lines"],
    ...[...args, ...more, "--resources", at("more")],
  ]);
  expect(code).toBe(EXIT.fine);
  const jar = readFileSync(at("x.jar"));
  expect(JSON.parse(printed)).toMatchObject({
    topology: "other",
    file: at("x.jar"),
    bytes: jar.length,
    blocks: 0,
  });
  const files = jarTexts(jar);
  expect(files["resources/component.mjs"]).toContain('wanted = "22.4"');
  expect(files["resources/words.txt"]).toBe("to be");
  const definition = JSON.parse(files["topology.json"] as string);
  expect(definition).toMatchObject({
    name: "other",
    config: { "topology.workers": 3, "topology.subprocess.timeout.secs": 45, "a.b": [7] },
  });
  expect(definition.bolts[0].constructorArgs).toEqual([["/opt/node", "component.mjs"]]);
  expect(JSON.stringify(definition.bolts[0].configMethods)).toContain('{"A":"1=2","B":""}');
});

test("writes no file, and keeps the one there is, when Storm has no form for a part [N1465]", async () => {
  const at = folderWith(BLOCKED);
  writeFileSync(at("lines.jar"), "the old one");
  const args = ["export", at("src/topology.ts"), "-o", at("lines.jar")];
  const { code, printed } = await runStorm(args);
  expect(code).toBe(EXIT.no);
  expect(printed).toMatch(/^blocks {2}print <- lines\.items: .+\n {8}\S.+\n(.*\n)*lines was not exported$/);
  expect(readFileSync(at("lines.jar"), "utf8")).toBe("the old one");
  const json = await runStorm([...args, "--json"]);
  expect(json.code).toBe(EXIT.no);
  expect(JSON.parse(json.printed)).toMatchObject({ topology: "lines", blocks: 1 });
  expect(readdirSync(at()).sort()).toEqual(["lines.jar", "src"]);
});

test("check: 0 when a topology can be exported, and 1 with every part that cannot [N1472]", async () => {
  const fine = folderWith(LINES);
  expect(await runStorm(["check", fine("src/topology.ts")])).toMatchObject({
    code: EXIT.fine,
    printed: expect.stringContaining("lines can be exported"),
  });
  const blocked = folderWith(BLOCKED);
  const found = await runStorm(["check", blocked("src/topology.ts"), "--json"]);
  expect(found.code).toBe(EXIT.no);
  expect(JSON.parse(found.printed)).toMatchObject({
    topology: "lines",
    export: "lines",
    blocks: 1,
    findings: expect.arrayContaining([
      expect.objectContaining({ effect: "blocks", component: "print", place: "print <- lines.items" }),
    ]),
  });
  const text = await runStorm(["check", blocked("src/topology.ts")]);
  expect(text.printed).toContain("lines cannot be exported: 1 of its parts");
});

test("check and export name the packages that are left out of the jar [N1478]", async () => {
  const at = folderWith({
    ...LINES,
    "src/asks.ts": 'import "asks";\nexport * from "./topology.js";\n',
    "src/node_modules/asks/package.json": '{"name": "asks", "main": "main.js"}',
    "src/node_modules/asks/main.js": 'try { require("not-there"); } catch {}\n',
  });
  const line = "not installed, so not in the jar: not-there\n";
  expect((await runStorm(["check", at("src/asks.ts")])).printed).toContain(line);
  expect((await runStorm(["export", at("src/asks.ts"), "-o", at("a.jar")])).printed).toContain(line);
  const { printed } = await runStorm(["check", at("src/asks.ts"), "--json"]);
  expect(JSON.parse(printed)).toMatchObject({ leftOut: ["not-there"] });
});

test("the folder in which the module is loaded is gone on every path, and holds what Storm will unpack [N1473]", async () => {
  const made: string[] = [];
  const watched = (): ReturnType<typeof temporaryFolder> => {
    const folder = temporaryFolder();
    made.push(folder.path);
    return folder;
  };
  const reads =
    'import { readFileSync } from "node:fs";\nreadFileSync(new URL("words.txt", import.meta.url));\n';
  const contents = {
    ...LINES,
    "src/reads.ts": `${reads}export * from "./topology.js";\n`,
    "src/throws.ts": 'throw new Error("no database");\n',
    "src/none.ts": "export const a = 1;\n",
    "more/words.txt": "to be",
  };
  const at = folderWith(contents);
  const check = (name: string, ...more: string[]) =>
    runStorm(["check", at("src", name), ...more], { temporaryFolder: watched });
  expect(await check("reads.ts", "--resources", at("more"))).toMatchObject({ code: EXIT.fine });
  const [unread, thrown, none] = [await check("reads.ts"), await check("throws.ts"), await check("none.ts")];
  expect([unread.code, thrown.code, none.code]).toEqual([EXIT.misuse, EXIT.misuse, EXIT.misuse]);
  expect(unread.complaints).toContain("words.txt");
  // The bundle is JavaScript already, so no loader is advised.
  expect(thrown.complaints).toBe(`signalbox: cannot load ${at("src/throws.ts")}: no database`);
  expect(none.complaints).toContain(`${at("src/none.ts")} exports no topology, only: a`);
  expect(made).toHaveLength(4);
  for (const path of made) {
    expect(path.startsWith(tmpdir())).toBe(true);
    expect(existsSync(path)).toBe(false);
  }
});

test("what a module prints while it is loaded is not on standard output", async () => {
  const noisy = 'process.stdout.write("noise");\nexport * from "./topology.js";\n';
  const at = folderWith({ ...LINES, "src/noisy.ts": noisy });
  const [out, err] = [vi.spyOn(process.stdout, "write"), vi.spyOn(process.stderr, "write")];
  err.mockImplementation(() => true);
  try {
    const { printed } = await runStorm(["check", at("src/noisy.ts"), "--json"]);
    expect(JSON.parse(printed)).toMatchObject({ topology: "lines" });
    expect(out.mock.calls.flat()).not.toContain("noise");
    expect(err.mock.calls.flat()).toContain("noise");
  } finally {
    out.mockRestore();
    err.mockRestore();
  }
});

test.each<[string, string[], string]>([
  ["no module", ["check"], "MODULE is missing"],
  ["no such module", ["check", "gone.ts"], "gone.ts cannot be used: there is no such file"],
  ["no file to write", ["export", "a.ts"], "--output is missing: -o topology.jar"],
  ["no workers", ["export", "a.ts", "-o", "a.jar", "--workers", "0"], "--workers must be a whole number"],
  ["no variable", ["export", "a.ts", "-o", "a.jar", "--env", "=1"], '--env must be a name, "=" and a value'],
  [
    "a name with a space",
    ["export", "a.ts", "-o", "a.jar", "--env", "A B=1"],
    "must begin with a name without spaces",
  ],
  ["no JSON", ["export", "a.ts", "-o", "a.jar", "--conf", "a=b"], "--conf a must be JSON; got b"],
  [
    "no version",
    ["export", "a.ts", "-o", "a.jar", "--node-version", "lts"],
    "--node-version must be a version",
  ],
])("%s: exit code 2 [N1472]", async (_what, args, text) => {
  const { code, complaints } = await runStorm(args);
  expect(complaints).toContain(text);
  expect(code).toBe(EXIT.misuse);
});

test("a file that cannot be written: exit code 2, and nothing beside it", async () => {
  const at = folderWith(LINES);
  const done = await runStorm(["export", at("src/topology.ts"), "-o", at("gone/lines.jar")]);
  expect(done.code).toBe(EXIT.misuse);
  expect(done.complaints).toContain(`cannot write ${at("gone/lines.jar")}: `);
  expect(await runStorm(["export", at("src/topology.ts"), "-o", at("src")])).toMatchObject({
    code: EXIT.misuse,
  });
  expect(readdirSync(at())).toEqual(["src"]);
});

test("a package that is not installed is named, with the command that installs it [N1474]", async () => {
  const at = folderWith(LINES);
  const missing = (name: string) => () => Promise.reject(new Misuse(`npm install ${name}`));
  for (const [name, host] of Object.entries({
    rolldown: { bundler: missing("rolldown") },
    fflate: { zip: missing("fflate") },
  })) {
    const { code, complaints } = await runStorm(["export", at("src/topology.ts"), "-o", at("a.jar")], host);
    expect({ code, complaints }).toEqual({ code: EXIT.misuse, complaints: `signalbox: npm install ${name}` });
  }
});

test("-o follows a link, writes to what is no file, and refuses a folder and an empty name [N1465]", async () => {
  const at = folderWith({ ...LINES, "old.jar": "old", "folder/a": "" });
  const write = (file: string) => runStorm(["export", at("src/topology.ts"), "-o", file]);
  symlinkSync("old.jar", at("link.jar"));
  expect(await write(at("link.jar"))).toMatchObject({ code: EXIT.fine });
  expect(lstatSync(at("link.jar")).isSymbolicLink()).toBe(true);
  expect(Object.keys(jarTexts(readFileSync(at("old.jar"))))).toContain("topology.json");

  for (const file of [at("folder"), `${at("folder")}/`])
    expect(await write(file)).toEqual({
      code: EXIT.misuse,
      printed: expect.any(String),
      complaints: `signalbox: cannot write ${file}: it is a folder`,
    });
  expect((await write(at("gone/a.jar"))).complaints).toBe(
    `signalbox: cannot write ${at("gone/a.jar")}: there is no folder ${at("gone")}`,
  );
  expect((await write("")).complaints).toContain("--output");
  expect(readdirSync(at()).sort()).toEqual(["folder", "link.jar", "old.jar", "src"]);
});

test("what is no file, such as a pipe, is written to and stays what it is", async () => {
  const at = folderWith(LINES);
  const pipe = at("pipe");
  if (spawnSync("mkfifo", [pipe]).status !== 0) return;
  // In another program: this one does not read while it writes.
  const [from, to] = [pipe, at("copy.jar")].map((path) => JSON.stringify(path));
  const copy = `const { readFileSync, writeFileSync } = require("node:fs"); writeFileSync(${to}, readFileSync(${from}));`;
  const reading = execute(process.execPath, ["-e", copy]);
  const done = await runStorm(["export", at("src/topology.ts"), "-o", pipe]);
  expect(done.code).toBe(EXIT.fine);
  await reading;
  expect(Object.keys(jarTexts(readFileSync(at("copy.jar"))))).toContain("topology.json");
  expect(statSync(pipe).isFIFO()).toBe(true);
});
