// A program that is looked at once, and then has nothing to do. It prints what Node waits for: nothing, unless a look keeps it alive.

import { System } from "signalbox";
import { history, observerHandler } from "signalbox/observer";
import { post } from "../support.js";

const system = new System({ name: "shop", report: false });
const clerk = system.spawn({ handle: () => undefined }, { label: "clerk" });

const LOOKS: { readonly [name: string]: () => Promise<unknown> } = {
  history: () => system.start(history()),
  overview: () => asked("system.overview", {}),
  top: () => asked("system.top", {}),
  trace: () => asked("system.trace", { id: `shop.${clerk.id}` }),
  traces: () => asked("system.traces", {}),
  // Somebody has looked at the page, and gone.
  feed: async () => {
    const handler = observerHandler(system);
    const views = { views: [{ key: "now", op: "system.overview" }] };
    const reader = (await handler.fetch(post("/api/feed", views, handler.token))).body?.getReader();
    await reader?.read();
    await reader?.cancel();
  },
};

async function asked(op: string, args: object): Promise<void> {
  const handler = observerHandler(system);
  const response = await handler.fetch(post("/api/ask", { op, args }, handler.token));
  if (!response.ok) throw new Error(await response.text());
  await response.text();
}

await LOOKS[process.argv[2] as string]?.();
// Requests to the disk end by themselves. Timers that only lead to a turn are over then.
for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 1));
const waits = process.getActiveResourcesInfo().filter((name) => !/^(?:TTY|Pipe|FS)|Req/.test(name));
console.log(waits.length === 0 ? "nothing" : waits.join());
if (waits.length > 0) process.exit();
