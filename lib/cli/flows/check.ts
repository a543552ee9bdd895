// `signalbox flows check --code MODULE`: replays the flows of a store over new code.

import type { AnyFlow } from "../../flow/definition/define.js";
import { type CheckedFlow, checkFlows } from "../../flow/operations/check.js";
import type { PayloadOptions } from "../../flow/payload/payloads.js";
import { System } from "../../system.js";
import { Misuse } from "../shell/arguments.js";
import { EXIT } from "../shell/exit.js";
import { type CommandContext, defineCommand, type FlowsCommand } from "./context.js";
import { oneLine } from "./table.js";

/** The flow definitions that a module exports, alone or in lists, and its `payloads`. @throws Misuse */
export async function codeOf(
  module: string,
  load: (module: string) => Promise<object>,
): Promise<{ readonly definitions: readonly AnyFlow[]; readonly payloads?: PayloadOptions }> {
  let exports: object;
  try {
    exports = await load(module);
  } catch (error) {
    throw new Misuse(`cannot load ${module}: ${(error as Error).message}`);
  }
  const definitions = new Set(Object.values(exports).flat().filter(isFlow));
  if (definitions.size === 0)
    throw new Misuse(`${module} exports no flow, only: ${Object.keys(exports).join(", ") || "nothing"}`);
  const payloads: unknown = "payloads" in exports ? exports.payloads : undefined;
  return {
    definitions: [...definitions],
    ...(payloads !== undefined && { payloads: payloads as PayloadOptions }),
  };
}

function isFlow(value: unknown): value is AnyFlow {
  const { name, version, body } = (value ?? {}) as Partial<AnyFlow>;
  return typeof name === "string" && typeof version === "number" && typeof body === "function";
}

const check = defineCommand({
  words: [],
  summary:
    "replays every flow in flight over new code, before it is deployed; exit code 1 if one does not fit",
  options: {
    code: {
      value: "MODULE",
      help: "a module that exports the flows, and `payloads` if they have options of their own",
    },
  },
  opensStore: true,
  run: async ({ options: { code } }, context) => {
    if (code === undefined) throw new Misuse("--code is required, such as --code ./flows.js");
    const loaded = await codeOf(code, (module) => context.host.load(module));
    const opened = await context.host.openStore(context.store);
    const system = new System({ report: false });
    let [checked, problems] = [0, 0];
    try {
      for await (const flow of checkFlows({ ...loaded, kernel: system.kernel, store: opened.store })) {
        checked++;
        if (flow.problem !== undefined) problems++;
        if (context.json) context.host.print(JSON.stringify(flow));
        else if (flow.problem !== undefined) context.host.print(problemText(flow, context));
      }
    } finally {
      await system.stop();
      await opened.close();
    }
    if (!context.json) context.host.print(`${checked} flows in flight, ${problems} do not fit`);
    return problems === 0 ? EXIT.fine : EXIT.no;
  },
});

function problemText(flow: CheckedFlow, { style }: CommandContext): string {
  const { id, name, version, problem, message, recorded, asked, at } = flow;
  const head = oneLine(`${id} (${name}, version ${version}): ${problem}`);
  const lines =
    problem === "diverged"
      ? [
          `recorded  ${recorded ?? "the end of the journal"}`,
          `asked     ${asked ?? "nothing"}`,
          `at        ${at ?? "?"}`,
        ]
      : [message ?? ""];
  return [style.bad(head), ...lines.map((line) => `  ${oneLine(line)}`)].join("\n");
}

export const CHECK: Readonly<Record<string, FlowsCommand>> = { check };
