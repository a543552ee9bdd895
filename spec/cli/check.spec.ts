// `signalbox flows check`, and `--code` of the other commands, over real files: what they say before new code is deployed.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System } from "signalbox";
import {
  defineFlow,
  type FlowHost,
  flowHost,
  jsonCodec,
  type PayloadOptions,
  wrapCodec,
} from "signalbox/flow";
import { sqlite } from "signalbox/store";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runCommand } from "./support/command.js";
import type { Ran } from "./support/ran.js";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "check-"));
  file = join(folder, "flows.db");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const order = defineFlow("order", async (flow, total: number) => {
  await flow.step("charge", () => ({ charged: total }));
  return flow.receive<boolean>("approval");
});
const mirror = (bytes: Uint8Array): Uint8Array => bytes.slice().reverse();
const mirrored: PayloadOptions = {
  codec: wrapCodec(jsonCodec(), { name: "mirrored", encode: mirror, decode: mirror }),
};

/** A host with one flow that waits for an approval. */
async function hosted(system: System, payloads: PayloadOptions = {}): Promise<FlowHost> {
  const host = await system.start(flowHost({ store: sqlite(file), flows: [order], payloads }));
  await host.start(order, 7, { id: "order-1" });
  const { operations, close } = await import("../../lib/cli/flows/reach.js").then(({ reach }) =>
    reach(file, () => undefined),
  );
  await expect.poll(async () => (await operations.inspect("order-1")).entries).toBe(1);
  await close();
  return host;
}

/** The file of a host that has stopped. */
async function stored(payloads: PayloadOptions = {}): Promise<void> {
  await using system = new System({ report: false });
  await hosted(system, payloads);
}

/** A module that exports a flow with one step. */
function code({ flow = "order", step = "charge", more = "" } = {}): string {
  const path = join(folder, `code-${readdirSync(folder).length}.ts`);
  writeFileSync(
    path,
    `import { defineFlow, jsonCodec, wrapCodec } from "signalbox/flow";
export const flows = [defineFlow("${flow}", async (flow) => {
  await flow.step("${step}", () => 1);
  await flow.receive("approval");
})];
${more}`,
  );
  return path;
}
const MIRRORED = `const mirror = (bytes) => bytes.slice().reverse();
export const payloads = {
  codec: wrapCodec(jsonCodec(), { name: "mirrored", encode: mirror, decode: mirror }),
};`;

const check = (module: string, ...more: string[]): Promise<Ran> =>
  runCommand("check", "--code", module, "--store", file, ...more);

test("code that fits ends with 0, and code that diverges with 1 and the place [Z17]", async () => {
  await stored();
  expect(await check(code())).toEqual({
    ...{ code: 0, printed: "1 flows in flight, 0 do not fit", complaints: "" },
  });
  const diverging = code({ step: "bill" });
  expect(await check(diverging)).toEqual({
    code: 1,
    printed: expect.stringMatching(
      /^order-1 \(order, version 1\): diverged\n {2}recorded {2}step charge\n {2}asked {5}step bill\n {2}at {8}.*code-\d+\.ts:3:\d+\n1 flows in flight, 1 do not fit$/,
    ),
    complaints: "",
  });
  const { printed, code: exit } = await check(diverging, "--json");
  expect(exit).toBe(1);
  expect(JSON.parse(printed)).toMatchObject({
    ...{ checked: 1, problems: 1 },
    flows: [{ id: "order-1", problem: "diverged", recorded: "step charge", asked: "step bill" }],
  });
});

test("a flow whose definition is missing does not fit [Z17]", async () => {
  await stored();
  expect(await check(code({ flow: "ordr" }))).toMatchObject({
    code: 1,
    printed: expect.stringContaining(
      "order-1 (order, version 1): unknown\n  the code has no flow order of version 1; it has ordr 1",
    ),
  });
});

test("a store that a live host holds is checked in a copy, and the flow goes on [Z17]", async () => {
  await using system = new System({ report: false });
  const host = await hosted(system);
  const own = join(folder, "tmp");
  mkdirSync(own);
  vi.stubEnv("TMPDIR", own);
  expect(await check(code())).toMatchObject({ code: 0, printed: "1 flows in flight, 0 do not fit" });
  expect(await check(code({ step: "bill" }))).toMatchObject({ code: 1 });
  // The copy is gone.
  expect(readdirSync(own)).toEqual([]);
  await host.get("order-1").send("approval", true);
  await host.get("order-1").result();
  expect(await check(code())).toMatchObject({ printed: "0 flows in flight, 0 do not fit" });
});

test("values of a user's codec are read with the exported payloads, and an error says when these are missing [Z18]", async () => {
  await stored(mirrored);
  const plain = code();
  const own = code({ more: MIRRORED });
  expect(await check(own)).toMatchObject({ code: 0 });
  expect(await check(plain)).toMatchObject({
    code: 1,
    printed: expect.stringContaining("order-1 (order, version 1): unreadable\n"),
  });
  const at = (...args: string[]) => runCommand(...args, "--store", file);
  const remark = '(a value written by the codec "mirrored" cannot be read: ';
  expect((await at("show", "order-1")).printed).toContain(`input      ${remark}`);
  expect((await at("show", "order-1")).printed).toContain("--code MODULE may have its codec)");
  expect((await at("history", "order-1")).printed).toContain(`charge ${remark}`);
  expect((await at("show", "order-1", "--code", own)).printed).toMatch(/^input {6}7$/m);
  expect((await at("history", "order-1", "--code", own)).printed).toContain('charge {"charged":7}');
});

test("a result that cannot be read ends `await` with 2, and names --code [Z18]", async () => {
  await using system = new System({ report: false });
  const host = await hosted(system, mirrored);
  await host.get("order-1").send("approval", true);
  await host.get("order-1").result();
  // Over the socket the host reads its values.
  expect(await runCommand("await", "order-1", "--store", file)).toMatchObject({
    ...{ code: 0, printed: "true" },
  });
  expect((await runCommand("show", "order-1", "--store", file)).printed).toMatch(/^input {6}7$/m);
  await host.stop();
  expect(await runCommand("await", "order-1", "--store", file)).toEqual({
    ...{ code: 2, printed: "" },
    complaints: expect.stringMatching(/codec "mirrored" cannot be read: .*\npass --code MODULE/),
  });
  const own = code({ more: MIRRORED });
  expect(await runCommand("await", "order-1", "--code", own, "--store", file)).toMatchObject({ code: 0 });
});

test.each([
  ["a file that is not there", () => join(folder, "none.js"), "cannot load"],
  ["TypeScript that is not loaded", () => join(folder, "none.ts"), "node --import tsx"],
  ["a syntax error", () => code({ more: "export const (" }), "cannot load"],
  ["code that throws", () => code({ more: 'throw new Error("no database")' }), "no database"],
  ["code that throws no error", () => code({ more: 'throw "no database"' }), "no database"],
  ["a codec that is none", () => code({ more: "export const payloads = { codec: 5 };" }), "payloads.codec"],
  ["payloads that are none", () => code({ more: "export const payloads = 5;" }), "cannot be used: payloads"],
  [
    "two flows of one name",
    () => code({ more: 'export const [a, b] = [1, 2].map(() => defineFlow("x", async () => undefined));' }),
    "a name and version that no other flow",
  ],
])("code that cannot be used ends with 2: %s", async (_what, module, text) => {
  await stored();
  const { code: exit, printed, complaints } = await check(module());
  expect({ exit, printed }).toEqual({ exit: 2, printed: "" });
  expect(complaints).toContain(text);
});

test("a module without flows, or none at all, is refused", async () => {
  await stored();
  const empty = join(folder, "empty.ts");
  writeFileSync(empty, "export const greeting = 5;");
  expect((await check(empty)).complaints).toContain("exports no flow and no payloads, only: greeting");
  writeFileSync(join(folder, "codec.ts"), "export const payloads = {};");
  expect((await check(join(folder, "codec.ts"))).complaints).toContain("exports no flow");
  expect((await runCommand("check", "--store", file)).complaints).toContain("--code is required");
});
