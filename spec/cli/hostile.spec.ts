// `signalbox flows` on stores that cannot be used: each has a sentence that says why, exit code 2, and one document with --json.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { socketPathOf } from "../../lib/admin/admin-socket.js";
import { adminClient } from "../../lib/cli/shell/admin-client.js";
import { FLOW_SCHEMA } from "../../lib/flow/journal/tables.js";
import { sqlite } from "../../lib/store/index.js";
import { storeContext } from "../support/store-context.js";
import { runCommand } from "./support/command.js";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hostile-"));
  file = join(folder, "flows.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Each command that needs a store meets the same error. */
async function refused(text: RegExp): Promise<void> {
  for (const command of [["list"], ["show", "a"], ["queues"], ["schedules"], ["metrics"], ["pause", "a"]]) {
    const { code, printed, complaints } = await runCommand(...command, "--json", "--store", file);
    expect({ command, code }).toEqual({ command, code: 2 });
    expect(complaints).toMatch(text);
    expect(JSON.parse(printed).error.message).toMatch(text);
  }
}

test("a file that is not there is not made [Z23]", async () => {
  await refused(/there is no file/);
});

test("a file that is no store [Z23]", async () => {
  writeFileSync(file, "to whom it may concern, ".repeat(1_000));
  await refused(/damaged|not a database|no SQLite/i);
});

test("a file of a later version [Z23]", async () => {
  const later = { ...FLOW_SCHEMA, version: 1_000 };
  const store = await sqlite(file).open([later], storeContext());
  await store.close();
  await refused(/version 1000/);
});

test("a host that hangs is given up after a time limit [Z23]", async () => {
  // It accepts, reads, and never answers.
  const server = createServer((socket) => void socket.resume().on("error", () => undefined));
  await new Promise<void>((resolve) => server.listen(socketPathOf(file), resolve));
  const client = await adminClient(socketPathOf(file), { lookMs: 20 });
  await expect(client?.ask("metrics", {})).rejects.toThrow(
    "the host did not answer: it was given up after 20 ms",
  );
  client?.close();
  await new Promise((resolve) => server.close(resolve));
});
