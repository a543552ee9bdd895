// `signalbox storm check TOPOLOGY`: what Storm has no form for, and what it does in another way.

import { oneLine } from "../../process/printable.js";
import type { StormFinding } from "../../topology/storm/index.js";
import { EXIT } from "../shell/exit.js";
import { kit, type StormCommands, type StormContext } from "./context.js";
import { type PreparedTopology, prepared, TOPOLOGY } from "./prepared.js";

const check = kit.command({
  words: ["MODULE"],
  summary:
    "prints all parts of a topology that Storm cannot run, or runs differently; exit code 1 if one cannot be exported",
  options: TOPOLOGY,
  run: async ([module], given, context) => {
    const checked = await prepared(module, given, context.host);
    const { topology, exported, findings, bundle } = checked;
    const blocking = blocks(findings);
    const { leftOut } = bundle;
    context.show({ topology: topology.name, export: exported, blocks: blocking, findings, leftOut }, () =>
      [...findingLines(checked, context), verdict(topology.name, findings)].join("\n"),
    );
    return blocking === 0 ? EXIT.fine : EXIT.no;
  },
});

/** How many findings make an export impossible. */
export const blocks = (findings: readonly StormFinding[]): number =>
  findings.filter(({ effect }) => effect === "blocks").length;

/** Two lines for each finding, and one for packages that are not in the bundle. */
export function findingLines(
  { findings, bundle: { leftOut } }: PreparedTopology,
  { style }: StormContext,
): string[] {
  const lines = findings.flatMap(({ effect, place, text, instead }) => [
    `${style.status(effect.padEnd(WIDTH), effect)} ${oneLine(`${place}: ${text}`)}`,
    style.dim(`${" ".repeat(WIDTH)} ${oneLine(instead)}`),
  ]);
  if (leftOut.length > 0) lines.push(style.dim(`not installed, so not in the jar: ${leftOut.join(", ")}`));
  return lines;
}

const WIDTH = "differs".length;

function verdict(name: string, findings: readonly StormFinding[]): string {
  const blocking = blocks(findings);
  const differing = findings.length - blocking;
  const differ = `${differing} ${differing === 1 ? "part differs" : "parts differ"} under Storm`;
  if (blocking > 0)
    return `${name} cannot be exported: ${blocking} of its parts have no form in Storm; ${differ}`;
  return `${name} can be exported; ${differing === 0 ? "nothing differs under Storm" : differ}`;
}

export const CHECK: StormCommands = { check };
