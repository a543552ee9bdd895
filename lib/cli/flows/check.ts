// `signalbox flows check --code MODULE`: replays the flows of a store over new code.

import { type CheckedFlow, checkFlows } from "../../flow/operations/check.js";
import { oneLine } from "../../process/printable.js";
import { System } from "../../system.js";
import { Misuse } from "../shell/arguments.js";
import { printList } from "../shell/document.js";
import { EXIT } from "../shell/exit.js";
import { type CommandContext, type FlowsCommands, kit } from "./context.js";

const check = kit.command({
  summary:
    "replays every flow in flight over new code, before you deploy it; exit code 1 if one does not fit",
  run: async (_words, _given, context) => {
    const { code, host, json } = context;
    if (code === undefined) throw new Misuse("--code is required, such as --code ./flows.js");
    if (code.definitions.length === 0) throw new Misuse("the module of --code exports no flow");
    const opened = await host.openStore(context.store);
    const system = new System({ report: false });
    const count = { checked: 0, problems: 0 };
    const { definitions, options: payloads } = code;
    const found = counted(
      checkFlows({ definitions, payloads, kernel: system.kernel, store: opened.store }),
      count,
    );
    try {
      if (json) await printList(host, "flows", found, () => count);
      else
        for await (const flow of found)
          if (flow.problem !== undefined) host.print(problemText(flow, context));
    } finally {
      await system.stop();
      await opened.close();
    }
    if (!json) host.print(`${count.checked} flows in flight, ${count.problems} do not fit`);
    return count.problems === 0 ? EXIT.fine : EXIT.no;
  },
});

async function* counted(
  flows: AsyncIterable<CheckedFlow>,
  count: { checked: number; problems: number },
): AsyncGenerator<CheckedFlow, void, undefined> {
  for await (const flow of flows) {
    count.checked++;
    if (flow.problem !== undefined) count.problems++;
    yield flow;
  }
}

function problemText(flow: CheckedFlow, { style }: CommandContext): string {
  const { id, name, version, problem, message, recorded, asked, at, did } = flow;
  const head = oneLine(`${id} (${name}, version ${version}): ${problem}`);
  const lines =
    problem === "diverged"
      ? [
          `recorded  ${recorded ?? "the end of the journal"}`,
          did === "asks" ? `asked     ${asked ?? "nothing"}` : `the code  ${did}`,
          `at        ${at ?? "?"}`,
          ...(did === "asks" ? [] : [message ?? ""]),
        ]
      : [message ?? ""];
  return [style.bad(head), ...lines.map((line) => `  ${oneLine(line)}`)].join("\n");
}

export const CHECK: FlowsCommands = { check };
