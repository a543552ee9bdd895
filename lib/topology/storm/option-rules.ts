// Rules about options that Storm has no form for. An option is looked at when it has another value than its default.

import type { Blueprint, ComponentPlan } from "../definition/blueprint.js";
import { type FullConfig, TOPOLOGY_DEFAULTS } from "../definition/config.js";
import type { StormFinding } from "./finding.js";
import { about, ofEach, type Said, type StormRule, shellOf } from "./rule.js";

/** Rules about the configuration. */
export const optionRules: readonly StormRule[] = [nameIsPlain, ofTopology, ofEach(ofComponent)];

function nameIsPlain({ name }: Blueprint): readonly StormFinding[] {
  if (/^[\w-]+$/.test(name)) return [];
  return [
    whole("name", name, {
      text: "Storm names folders by the topology, and a daemon without a UTF-8 locale cannot create such a folder.",
      instead: "export it under a name of letters, digits, - and _ of ASCII.",
    }),
  ];
}

/** Options of a whole topology that have no form, and how it is under Storm. */
const OF_TOPOLOGY: Partial<Record<keyof FullConfig, Said>> = {
  ackers: {
    text: "Storm has one acker task for each executor of `ackerExecutors`.",
    instead: "give `ackerExecutors` the number that you want.",
  },
  ackerCapacity: {
    text: "the ackers of Storm have no capacity.",
    instead: "limit the tuples in flight by `maxPending`.",
  },
  restarts: {
    text: "Storm starts a worker again always, and never gives a topology up.",
    instead: "watch the restarts of workers in Storm's UI.",
  },
  restartsBackoff: {
    text: "Storm has waits of its own before it starts a worker again.",
    instead: "expect restarts by the supervisor's own rules.",
  },
};

function ofTopology({ name, config }: Blueprint): readonly StormFinding[] {
  const found: StormFinding[] = [];
  for (const [option, said] of Object.entries(OF_TOPOLOGY))
    if (isSet(config, option as keyof FullConfig))
      found.push(whole(dashed(option), `${name}: ${option}`, said));
  const { messageTimeoutMs, drainMs, sampleRate, debug } = config;
  if (messageTimeoutMs % 1_000 !== 0)
    found.push(
      whole("message-timeout", `${name}: messageTimeoutMs`, {
        text: `tuples expire after ${Math.ceil(messageTimeoutMs / 1_000)} s in place of ${messageTimeoutMs} ms: Storm counts whole seconds.`,
        instead: "give `messageTimeoutMs` in whole seconds.",
      }),
    );
  if (drainMs !== messageTimeoutMs)
    found.push(
      whole("drain", `${name}: drainMs`, {
        text: "a kill of the topology says how long it waits for the tuples in flight.",
        instead: "kill it with a wait: `storm kill NAME -w SECONDS`.",
      }),
    );
  if (sampleRate === 0)
    found.push(
      whole("sample-rate", `${name}: sampleRate`, {
        text: "Storm measures at least some tuples, and refuses 0. It takes its own rate.",
        instead: "give a small rate.",
      }),
    );
  if (debug)
    found.push(
      whole("debug", `${name}: debug`, {
        text: "Storm writes each tuple to the log of its worker, and publishes no events.",
        instead: "read the workers' logs.",
      }),
    );
  return found;
}

/** Options of a component that have no form. */
const OF_COMPONENT: Partial<Record<keyof ComponentPlan["config"], Said>> = {
  receiveBuffer: {
    text: "Storm has one size for the queues of all executors.",
    instead: 'give `conf: { "topology.executor.receive.buffer.size": … }` to the export.',
  },
  spoutWaitMs: {
    text: "Storm asks an idle spout again after 1 ms.",
    instead:
      'give `conf: { "topology.spout.wait.progressive.level3.sleep.millis": … }` to the export, for all spouts.',
  },
};

function ofComponent(plan: ComponentPlan, { config: topology }: Blueprint): readonly StormFinding[] {
  const { name, kind, config } = plan;
  const found: StormFinding[] = [];
  const say = (code: string, option: string, said: Said): number =>
    found.push(about("differs", code, name, said, `${name}: ${option}`));
  for (const [option, said] of Object.entries(OF_COMPONENT)) {
    if (!isSet(config, option as keyof FullConfig) || (option === "spoutWaitMs" && kind === "bolt")) continue;
    say(dashed(option).replace(/-ms$/, ""), option, said);
  }
  if (config.sampleRate !== topology.sampleRate)
    say("sample-rate", "sampleRate", {
      text: "Storm has one rate for the whole topology.",
      instead: "give `sampleRate` to the topology.",
    });
  if (config.debug && !topology.debug)
    say("debug", "debug", {
      text: "Storm writes each of its tuples to the log of the worker, and publishes no events.",
      instead: "read the workers' logs.",
    });
  if (shellOf(plan) !== undefined && config.checkValues)
    say("check-values", "checkValues", {
      text: "Storm gives its tuples on as they are.",
      instead: "check them in the program.",
    });
  return found;
}

function isSet(config: Partial<FullConfig>, option: keyof FullConfig): boolean {
  return JSON.stringify(config[option]) !== JSON.stringify(TOPOLOGY_DEFAULTS[option]);
}

function whole(code: string, place: string, said: Said): StormFinding {
  return { effect: "differs", code, component: undefined, place, ...said };
}

/** The code of an option: `receiveBuffer` as `receive-buffer`. */
function dashed(option: string): string {
  return option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
