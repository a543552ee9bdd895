// The server of the observer in a process of its own, which is that of the command: a system with this one child.

import type { ObserverSource } from "../../observer/feed/source.js";
import { observerOf } from "../../observer/observer.js";
import type { ObserverAddress } from "../../observer/options.js";
import { causeOfStart } from "../../supervisor/cause-of-start.js";
import { supervisor } from "../../supervisor/supervisor.js";
import { System } from "../../system.js";
import { jsonText } from "../shell/json-text.js";
import type { ObserverServer, ServerWishes } from "./observe.js";

/** How long open requests may take at the end. */
const STOP_MS = 2_000;

/** Opens the page of a source. @throws Error when the port is taken */
export async function serve(
  source: ObserverSource,
  { port, actions, audit }: ServerWishes,
): Promise<ObserverServer> {
  const system = new System({ name: "observe", report: (text) => audit(text) });
  system.events.on("observerAction", ({ op, args, outcome, error }) =>
    audit(`${outcome}: ${op} ${jsonText(args)}${error === undefined ? "" : `: ${error.message}`}`),
  );
  let address: ObserverAddress | undefined;
  const onListening = (at: ObserverAddress): void => {
    address = at;
  };
  const close = (): Promise<void> => system.stop({ timeoutMs: STOP_MS });
  try {
    const page = observerOf({ port, actions, onListening }, () => source);
    await system.start(supervisor({ label: "observe", children: [{ id: "observer", start: page }] }));
  } catch (error) {
    await close();
    throw causeOfStart(error);
  }
  const { url, port: open } = address as ObserverAddress;
  return { url, port: open, close };
}
