// Commits orders until it is killed, and prints the number of each when it is acknowledged. `hold`: only holds the file.
// `errors`: goes on after an error, and prints its code.

import { writeSync } from "node:fs";
import { sqlite } from "signalbox/store";
import { storeContext } from "../../../support/store-context.js";
import { journal, open, orders } from "../support.js";

const [file = "", driver, durability, thread, mode] = process.argv.slice(2);
const source = sqlite(file, {
  driver: driver as "node" | "libsql",
  durability: durability as "power-loss" | "process-kill",
  thread: thread === "true",
});
const store = await open(source, storeContext());

/** Writes a line as a whole. A pipe that is full for now refuses it: then it waits for the reader. */
function print(text: string): void {
  let rest = Buffer.from(`${text}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

const begin = await store.count(orders, {});
print(`open ${begin}`);
if (mode === "hold") {
  // An open store keeps no program alive.
  const alive = setInterval(() => undefined, 1_000);
  await new Promise((resolve) => {
    process.once("SIGTERM", resolve);
    print("ready");
  });
  clearInterval(alive);
  await store.close();
  print("closed");
} else if (mode === "errors") {
  let code = "";
  for (let n = 0; ; n++) {
    try {
      await store.commit({ writes: [{ type: "insert", table: orders, row: { id: `${n}`, total: n } }] });
      print(code === "" ? `ack ${n}` : `ack ${n} again`);
      code = "";
    } catch (error) {
      const { code: now, message } = error as { code: string; message: string };
      if (now !== code) print(`error ${now} ${message}`);
      code = now;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
} else {
  const write = async (n: number): Promise<void> => {
    await store.commit({
      writes: [
        { type: "insert", table: orders, row: { id: `${n}`, total: n } },
        { type: "insert", table: journal, row: { flow: `${n}`, entry: "begun" } },
        { type: "insert", table: journal, row: { flow: `${n}`, entry: "done" } },
      ],
    });
    print(`ack ${n}`);
  };
  // Twenty writers at once, so that groups are large; the numbers go on where the last run has ended.
  let next = begin * 1_000;
  const writer = async (): Promise<never> => {
    for (;;) await write(next++);
  };
  await Promise.all(Array.from({ length: 20 }, writer));
}
