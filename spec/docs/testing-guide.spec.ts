// The testing guide does what it says: its service fails as printed, its token replays, and mended it passes.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Scenario } from "signalbox/testing";
import { exhaustive, explore, renderViewer, ScheduleFailedError } from "signalbox/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explored, proving } from "../support/proof.js";
import { codeBlocks, filesOf } from "./blocks.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const work = join(root, ".build", "testing-guide");
const page = readFileSync(join(root, "docs/testing.md"), "utf8");
const printed = /```text\n([\s\S]*?)```/.exec(page)?.[1]?.trim() ?? "";
const faults = { crash: { of: "**/picker-*" } };

const failing = join(work, "files_0", "shop.test.ts");
const mended = join(work, "files_1", "shop.test.ts");

beforeAll(() => {
  const files = filesOf(codeBlocks(page)).filter(({ path }) => /^files_[01]\//.test(path));
  for (const { path, code } of files) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), code);
  }
  // The same test, beside the mended service.
  writeFileSync(mended, readFileSync(failing, "utf8"));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** The scenario of a test file whose exploration passes, or what it failed with. */
async function load(file: string): Promise<{ sellsThree: Scenario } | ScheduleFailedError> {
  return import(file).then(
    (module) => module as { sellsThree: Scenario },
    (error: unknown) => error as ScheduleFailedError,
  );
}

/** What the guide's own exploration fails with. */
async function failure(): Promise<ScheduleFailedError> {
  const folder = process.cwd();
  // Reports show places from the working folder.
  process.chdir(dirname(failing));
  const error = await load(failing).finally(() => process.chdir(folder));
  expect(error).toBeInstanceOf(ScheduleFailedError);
  return error as ScheduleFailedError;
}

describe("the testing guide", () => {
  test("its exploration fails as the page shows, and its replay shows it: `npm run docs:replay`", async () => {
    const error = await failure();
    expect(error.message).toBe(printed);
    await expect(renderViewer(error.trace)).toMatchFileSnapshot("../../docs/replay/sells-three.html");
  });

  test("the mended service passes", async () => {
    const { sellsThree } = (await load(mended)) as { sellsThree: Scenario };
    await explored(sellsThree, { quick: 200, faults });
  });

  test.runIf(proving)("the mended service passes when every schedule is run", async () => {
    const module = await load(mended);
    expect(module).not.toBeInstanceOf(Error);
    const { sellsThree } = module as { sellsThree: Scenario };
    const all = await explore(sellsThree, { faults, strategy: exhaustive(), schedules: 100_000 });
    expect(all.complete).toBe(true);
    expect(page).toContain(`${all.schedules - all.redundant} schedules`);
  });
});
