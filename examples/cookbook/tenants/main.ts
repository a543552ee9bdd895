// The demonstration: a noisy tenant is refused, a quiet one is not held up, and idle tenants have no process.

import { type BodyContext, System, supervisor } from "signalbox";
import { RateLimitError } from "signalbox/service";
import { TenantBusyError, tenants } from "./tenants.js";

await using system = new System({ name: "api", report: false });
const { tree, run, busy } = tenants(system, {
  concurrency: 2,
  maxQueue: 4,
  workMs: 1_000,
  rate: { permits: 10, perMs: 60_000, burst: 10 },
  idleMs: 50,
});
await system.start(supervisor({ children: [{ id: "tenants", start: tree }] }));

/** A request that takes 200 ms. */
const request = (ctx: BodyContext<unknown>): Promise<string> =>
  new Promise((resolve) => ctx.runAfter(200, () => resolve("served")));

const order: string[] = [];
async function serve(tenant: string): Promise<string> {
  try {
    const answer = await run(tenant, request);
    order.push(tenant);
    return answer;
  } catch (error) {
    if (error instanceof TenantBusyError) return "no room";
    if (error instanceof RateLimitError) return "too fast";
    throw error;
  }
}

// Twelve requests of one tenant at once, and one of another tenant behind them.
const noisy = Array.from({ length: 12 }, () => serve("noisy"));
const quiet = serve("quiet");
const ends = await Promise.all(noisy);
for (const end of ["served", "no room", "too fast"])
  console.log(`noisy: ${ends.filter((one) => one === end).length} times ${end}`);
console.log("quiet:", await quiet, "among the first three:", order.slice(0, 3).includes("quiet"));

const hangs = run("quiet", () => new Promise(() => undefined)).catch((error: Error) => error.name);
console.log("a request that hangs:", await hangs);

while (busy().length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
console.log("tenants with a process:", busy().length);
