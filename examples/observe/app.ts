// The application: arguments in, the address of the observer first, a line for each part at the end, and an exit code out.

import { setMaxListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System, supervisor } from "signalbox";
import { observer } from "signalbox/observer";
import { type Health, run } from "signalbox/service";
import { command, type Output } from "../flights/command-line.js";
import { BIRDSTRIKES, birdstrikesPart } from "./birdstrikes-part.js";
import { CHECKOUT, checkoutPart } from "./checkout-part.js";
import { flightsPart } from "./flights-part.js";
import { HostsChaos } from "./hosts-chaos.js";
import { HELP, type Options, parseOptions } from "./options.js";
import { KILLED_ON_PURPOSE, type Part } from "./part.js";
import { shopPart } from "./shop-part.js";

/** Hosts are killed a tenth as often as processes: they have more to read when they start again. */
const HOSTS_RARER = 10;
/** How long the tree may take to stop. */
const STOP_MS = 30_000;

/** @returns the exit code: 0 all sums are exact, 1 they are not, 2 the options are wrong */
export function main(
  args: readonly string[],
  out: Output,
  err: Output,
  interrupted: AbortSignal,
): Promise<number> {
  return command(args, out, err, {
    parse: parseOptions,
    help: HELP,
    run: (options) => observed(options, out, interrupted),
  });
}

async function observed(options: Options, out: Output, interrupted: AbortSignal): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "observe-"));
  const parts: Part[] = [];
  // Everything that rests listens.
  setMaxListeners(0, interrupted);
  // What is killed is seen in the observer.
  await using system = new System({ name: "demo", report: false });
  const stop = new AbortController();
  try {
    const { chaos, size, port, readOnly } = options;
    const tree = async (health: Health) => {
      const shop = await shopPart({ system, folder, chaos, size }, health);
      parts.push(shop);
      parts.push(await flightsPart({ system, folder, chaos, size }));
      parts.push(await checkoutPart({ system, folder, chaos, size }));
      parts.push(birdstrikesPart({ system, folder, chaos, size }));
      return supervisor({
        ...{ ...KILLED_ON_PURPOSE, label: "demo", name: "demo" },
        children: [
          {
            id: "observer",
            start: observer({ port, actions: !readOnly, onListening: ({ url }) => out.write(`${url}\n`) }),
          },
          ...parts.flatMap(({ children }) => children),
          { id: "chaos", start: HostsChaos, args: [system, [CHECKOUT, BIRDSTRIKES], chaos * HOSTS_RARER] },
        ],
      });
    };
    const service = run((_config, { health }) => tree(health), {
      ...{ name: "demo", system, host: false, signal: stop.signal, drainTimeoutMs: STOP_MS },
    });
    await service.started;
    out.write("the observer is open at the address above; Ctrl-C ends the program, and checks all sums\n");
    await Promise.all(parts.map((part) => inRounds(part, options.rounds, interrupted)));
    const verdicts = [];
    for (const part of parts) verdicts.push(await part.verdict());
    stop.abort();
    const { outcome } = await service.ended;
    const faults = verdicts.flatMap((one) => one.faults);
    if (outcome !== "clean") faults.push(`the service ended with ${outcome}`);
    for (const { line } of verdicts) out.write(`${line}\n`);
    out.write(`${faults.length === 0 ? "exact: nothing lost, nothing done twice" : faults.join("\n")}\n`);
    return faults.length === 0 ? 0 : 1;
  } finally {
    for (const part of parts) await part.close();
    await system.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function inRounds(part: Part, rounds: number | undefined, ending: AbortSignal): Promise<void> {
  for (let n = 0; n < (rounds ?? Number.POSITIVE_INFINITY) && !ending.aborted; n++) await part.round(ending);
}
