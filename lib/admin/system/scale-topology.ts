// Scaling of a topology by an operator. The message is that of TopologyRef, whose code is not loaded here.

import { only } from "../../process/known-options.js";
import { count, text } from "../../process/options.js";
import type { Process } from "../../process/process.js";
import type { DirectorMessage } from "../../topology/lifecycle/director.js";
import type { ScaleTo } from "./graph-operations.js";

/** @throws OptionError, TopologyPhaseError */
export async function scaleTopology(
  { kernel, pid }: Process,
  component: string,
  options: ScaleTo,
): Promise<void> {
  text("component", component);
  only("", options, ["tasks"]);
  const tasks = count("tasks", options.tasks, 1);
  const build = (replyTo: Extract<DirectorMessage, { type: "scale" }>["replyTo"]): DirectorMessage => ({
    type: "scale",
    component,
    tasks,
    replyTo,
  });
  // Tasks that are taken out finish their tuples first, which takes as long as the topology lets a stop take.
  await kernel.calls.call(undefined, pid, build, { timeoutMs: Number.POSITIVE_INFINITY });
}
