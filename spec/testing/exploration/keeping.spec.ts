// A failing schedule leaves a page and a file behind, if it is asked to.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OptionError } from "signalbox";
import { explore, renderViewer, type Simulation } from "signalbox/testing";
import { afterAll, describe, expect, test } from "vitest";
import { readFailure } from "../../../lib/testing/report/failure-file.js";
import { errorOf, failureOf } from "../support/found.js";

const folder = mkdtempSync(join(tmpdir(), "signalbox-keeping-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fails(sim: Simulation): void {
  sim.system({ name: "shop" });
  throw new Error("closed");
}

describe("a failing schedule", () => {
  test("writes a page and a file, which hold its trace and its token", async () => {
    const viewer = join(folder, "new/shop.html");
    const error = await failureOf(fails, { viewer });
    expect(readFileSync(viewer, "utf8")).toBe(renderViewer(error.trace));
    const kept = readFailure(readFileSync(join(folder, "new/shop.json"), "utf8"));
    expect(kept).toEqual({ name: "exploration", token: error.token, trace: error.trace });
    expect(error.message.split("\n").at(-1)).toBe(`viewer: ${viewer}`);
    expect(error.stack).toContain(`viewer: ${viewer}`);
  });

  test("writes into a folder under the name of its exploration", async () => {
    await failureOf(fails, { viewer: `${folder}/`, name: "the shop: opens" });
    expect(existsSync(join(folder, "the-shop-opens.html"))).toBe(true);
    expect(existsSync(join(folder, "the-shop-opens.json"))).toBe(true);
  });

  test("says where its scenario is, with the options that a run needs", async () => {
    const source = { module: import.meta.url, export: "fails" };
    const faults = { crash: { of: "shop/**", atMost: 2 } };
    await failureOf(fails, { viewer: join(folder, "sourced.html"), source, faults, schedules: 3 });
    const kept = readFailure(readFileSync(join(folder, "sourced.json"), "utf8"));
    expect(kept.source).toEqual({ ...source, options: { faults } });
  });

  test("that is replayed writes them, too", async () => {
    const { token } = await failureOf(fails);
    await failureOf(fails, { replay: token, viewer: join(folder, "again.html") });
    expect(existsSync(join(folder, "again.json"))).toBe(true);
  });
});

test("an exploration that passes leaves nothing", async () => {
  await explore(() => undefined, { schedules: 2, viewer: join(folder, "passes.html") });
  expect(existsSync(join(folder, "passes.html"))).toBe(false);
});

test.each([
  [{ viewer: 1 as never }, "viewer"],
  [{ viewer: "a", source: { module: "a" } as never }, "source.export"],
  [{ viewer: "a", source: { module: "a", export: "b", file: "c" } as never }, "source.file"],
  [{ source: { module: "a", export: "b" }, faults: { crash: { of: /till/ } } }, "faults"],
  [{ source: { module: "a", export: "b" }, allow: () => true }, "allow"],
])("%o is refused", async (options, path) => {
  const error = await errorOf(explore(fails, options));
  expect(error).toBeInstanceOf(OptionError);
  expect((error as OptionError).path).toBe(path);
});
