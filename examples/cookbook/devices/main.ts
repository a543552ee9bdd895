// A demonstration: 10,000 devices send 30,000 readings over 10,000 connections. Every hundredth write fails, and the device with it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { System } from "signalbox";
import { send } from "./clients.js";
import type { Totals } from "./device.js";
import { fleet } from "./fleet.js";

const COUNT = Number(process.env.DEVICES ?? 10_000);
const READINGS = 3;

// The clients are a process of the operating system of their own: each end of a connection needs a file descriptor.
const [, , role, port] = process.argv;
if (role === "clients") await send(Number(port), COUNT, READINGS);
else await serve();

async function serve(): Promise<void> {
  const system = new System({ name: "meters", report: false });
  const rows = new Map<string, Totals>();
  let writes = 0;
  const store = {
    load: async (id: string) => rows.get(id),
    save: async (id: string, totals: Totals) => {
      if (++writes % 100 === 0) throw new Error("the database is busy");
      if (totals.last > (rows.get(id)?.last ?? 0)) rows.set(id, totals);
    },
  };
  let crashes = 0;
  system.events.on("exit", ({ pid, reason }) => {
    if (pid.label === "device" && reason.type === "crash") crashes++;
  });
  const listening = new Promise<number>((resolve) => {
    void system.start(fleet(system, { port: 0, host: "127.0.0.1", store, onListening: resolve }));
  });

  const args = [...process.execArgv, import.meta.filename, "clients", String(await listening)];
  const clients = spawn(process.execPath, args, { stdio: "inherit" });
  await once(clients, "exit");
  const all = [...rows.values()];
  console.log(`devices: ${rows.size}, crashes: ${crashes}`);
  console.log(`readings: ${all.reduce((sum, { last }) => sum + last, 0)}`);
  console.log(`sum of their values: ${all.reduce((total, { sum }) => total + sum, 0)}`);
  console.log(`devices that run: ${system.processes().filter(({ label }) => label === "device").length}`);
  await system.stop();
}
