// The jar as a zip: what programs for zips read from it, and that its bytes depend on its entries alone.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as fflate from "fflate";
import { expect, onTestFinished, test, vi } from "vitest";
import { folders } from "../../../lib/cli/shell/folders.js";
import { jarOf, topologyIn } from "../../../lib/cli/storm/jar.js";
import { execute, folderWith, jarTexts } from "./support.js";

const utf8 = new TextEncoder();
const DEFINITION = '{"name": "words"}\n';
const jar = (resources: Readonly<Record<string, string>> = { "component.mjs": "1;" }): Uint8Array =>
  jarOf(
    DEFINITION,
    new Map(Object.entries(resources).map(([path, text]) => [path, utf8.encode(text)])),
    fflate as never,
    folders.zipTime(),
  );
const hash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

test("has the definition, a manifest, and the files of the components", () => {
  expect(jarTexts(jar({ "component.mjs": "1;", "7": "seven", "a/b.py": "pass" }))).toEqual({
    "META-INF/MANIFEST.MF": "Manifest-Version: 1.0\r\nCreated-By: signalbox\r\n\r\n",
    "resources/7": "seven",
    "resources/a/b.py": "pass",
    "resources/component.mjs": "1;",
    "topology.json": DEFINITION,
  });
});

test("has the same bytes whatever the order of its files, and others when a file differs", () => {
  expect(hash(jar({ a: "1", b: "2" }))).toBe(hash(jar({ b: "2", a: "1" })));
  expect(hash(jar({ a: "1", b: "2" }))).not.toBe(hash(jar({ a: "1", b: "3" })));
});

test("has the same bytes in every time zone [N1460]", () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const zones = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati", "America/New_York"];
  const found = zones.map((zone) => {
    vi.stubEnv("TZ", zone);
    return { hash: hash(jar()), offset: new Date(1980, 0, 1).getTimezoneOffset() };
  });
  expect(new Set(found.map(({ offset }) => offset)).size).toBe(zones.length);
  expect(new Set(found.map((one) => one.hash)).size).toBe(1);
});

test("has plain files of 1980, in the headers that programs for zips read", () => {
  const bytes = Buffer.from(jar());
  const [UNIX, PLAIN, NOON_OF_1980] = [3, 0o100644 << 16, 0x00216000];
  const central: { name: string; os: number; attributes: number; moment: number }[] = [];
  for (let at = bytes.indexOf("PK\x01\x02"); at >= 0; at = bytes.indexOf("PK\x01\x02", at + 1))
    central.push({
      name: bytes.toString("utf8", at + 46, at + 46 + bytes.readUInt16LE(at + 28)),
      os: bytes.readUInt8(at + 5),
      moment: bytes.readUInt32LE(at + 12),
      attributes: bytes.readInt32LE(at + 38),
    });
  const plain = { os: UNIX, moment: NOON_OF_1980, attributes: PLAIN };
  expect(central).toEqual(
    ["META-INF/MANIFEST.MF", "resources/component.mjs", "topology.json"].map((name) => ({ name, ...plain })),
  );
});

const unzip = spawnSync("unzip", ["-v"]).status === 0;

test.skipIf(!unzip)(`unzip reads it${unzip ? "" : " (needs unzip)"}`, async () => {
  const at = folderWith();
  writeFileSync(at("a.jar"), jar());
  const { stdout } = await execute("unzip", ["-Z", at("a.jar")]);
  expect(stdout).toMatch(/-rw-r--r--.* 80-Jan-01 12:00 resources\/component\.mjs/);
  await execute("unzip", ["-tq", at("a.jar")]);
});

test("names its topology, and other files name none", () => {
  expect(topologyIn(jar(), fflate as never)).toBe("words");
  expect(topologyIn(jar({ "other.mjs": "1;" }), fflate as never)).toBeUndefined();
  expect(topologyIn(fflate.zipSync({ a: utf8.encode("b") }), fflate as never)).toBeUndefined();
  expect(topologyIn(utf8.encode("no zip"), fflate as never)).toBeUndefined();
  expect(topologyIn(new Uint8Array(), fflate as never)).toBeUndefined();
  const wrong = { "topology.json": utf8.encode('{"name": 7}'), "resources/component.mjs": utf8.encode("") };
  expect(topologyIn(fflate.zipSync(wrong), fflate as never)).toBeUndefined();
});

test("the command finds the modules of its own package", () => {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  expect(folders.ownModule("signalbox/package.json")).toBe(`${root}package.json`);
});
