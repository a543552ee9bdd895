// The demonstration of the recipe: an agent looks up a price and orders tea. Its process is killed while the model thinks, and a person
// has to approve the order. The model is a script of three turns, so that the program needs no network.

import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { System } from "signalbox";
import { flowHost } from "signalbox/flow";
import { sqlite } from "signalbox/store";
import { type AgentState, agentFlow, type Model, type Turn } from "./agent.js";

const SCRIPT: readonly Turn[] = [
  { text: "I look up the price.", calls: [{ id: "c1", tool: "price", input: { item: "tea" } }] },
  { text: "I order.", calls: [{ id: "c2", tool: "order", input: { item: "tea", n: 3 } }] },
  { text: "Three teas are ordered, for 12 in all.", calls: [] },
];

/** The service: goes on with the task, or starts it. */
async function work(folder: string): Promise<void> {
  const model: Model = async (messages) => {
    const turn = SCRIPT[messages.filter(({ role }) => role === "assistant").length];
    if (turn === undefined) throw new Error("the script is over");
    console.log(`  model: ${turn.text}`);
    const killed = join(folder, "killed");
    if (turn === SCRIPT[1] && !existsSync(killed)) {
      appendFileSync(killed, "");
      process.kill(process.pid, "SIGKILL");
    }
    return turn;
  };
  const agent = agentFlow({
    model,
    tools: {
      price: {
        run: async ({ item }) => {
          console.log(`  tool: looks up ${item}`);
          return "4";
        },
      },
      order: {
        needsApproval: true,
        run: async ({ item, n }) => {
          console.log(`  tool: orders ${n} ${item}`);
          return "ordered";
        },
      },
    },
  });

  await using system = new System({ name: "office" });
  const flows = await system.start(flowHost({ store: sqlite(join(folder, "agents.db")), flows: [agent] }));
  const run = await flows.start(agent, "Order three teas.", { id: "agent-1" });
  while ((await run.query<AgentState>("agent")).doing !== "waits for approval of order") await pause(5);
  console.log("Ada approves");
  await run.send("approve c2", { by: "Ada", ok: true });
  console.log(" ", await run.result());
}

const folder = process.env.AGENT_FOLDER;
if (folder !== undefined) await work(folder);
else {
  const fresh = mkdtempSync(join(tmpdir(), "agent-"));
  for (const run of ["first", "second"]) {
    console.log(`the ${run} process`);
    const { signal } = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url)], {
      env: { ...process.env, AGENT_FOLDER: fresh },
      stdio: "inherit",
    });
    if (signal !== null) console.log(`  ended by ${signal}`);
  }
  rmSync(fresh, { recursive: true });
}
