// Rules about components in other languages: Storm starts their programs by itself, with limits of its own.

import type { ComponentPlan } from "../definition/blueprint.js";
import { TOPOLOGY_DEFAULTS } from "../definition/config.js";
import type { ShellForm } from "../definition/made-by.js";
import { SHELL_DEFAULTS } from "../multilang/host/shell-options.js";
import { seconds, slowestAnswerMs } from "./config.js";
import type { StormFinding } from "./finding.js";
import { isJson } from "./options.js";
import { about, ofEach, type Said, type StormRule, shellOf } from "./rule.js";

/** Rules about shell components. */
export const shellRules: readonly StormRule[] = [
  ofEach((plan, { config, subscriptions, components }) => {
    const form = shellOf(plan);
    if (form === undefined) return [];
    return [
      ...blocking(plan, form),
      ...limits(plan, form),
      ...timeout(plan, form, seconds(slowestAnswerMs(components))),
      ...supervision(plan, config),
      ...deadLetters(plan, subscriptions),
    ];
  }),
];

/** Keys of Storm that one component may have; Storm ignores all its other keys there. */
const KEYS_OF_COMPONENTS = new Set([
  "topology.debug",
  "topology.max.spout.pending",
  "topology.max.task.parallelism",
  "topology.transactional.id",
  "topology.tick.tuple.freq.secs",
  "topology.sleep.spout.wait.strategy.time.ms",
  "topology.spout.wait.strategy",
  "topology.bolts.window.length.count",
  "topology.bolts.window.length.duration.ms",
  "topology.bolts.window.sliding.interval.count",
  "topology.bolts.window.sliding.interval.duration.ms",
  "topology.bolts.tuple.timestamp.max.lag.ms",
  "topology.bolts.message.id.field.name",
  "topology.state.provider",
  "topology.state.provider.config",
  "topology.bolts.late.tuple.stream",
]);

function blocking(
  { name }: ComponentPlan,
  { cwd, conf, hasMetrics, env }: ShellForm,
): readonly StormFinding[] {
  const found: StormFinding[] = [];
  const say = (effect: StormFinding["effect"], code: string, said: Said): number =>
    found.push(about(effect, code, name, said));
  if (cwd !== undefined)
    say("blocks", "shell-cwd", {
      text: `its program runs in ${cwd}, but Storm runs it in the folder \`resources\` of the unpacked jar.`,
      instead:
        "leave out `cwd`, and give paths that hold in that folder, to which the files of the program are exported.",
    });
  if (hasMetrics)
    say("blocks", "shell-metrics", {
      text: "its program sends metrics to `onMetrics`. A worker of Storm ends at a metric that no Java code has registered.",
      instead: "leave out `onMetrics`, and write log lines in the program instead of metrics.",
    });
  const unsendable = Object.keys(conf).filter((key) => !isJson(conf[key]));
  if (unsendable.length > 0)
    say("blocks", "shell-conf", {
      text: `\`conf\` has values that JSON cannot carry: ${unsendable.join(", ")}.`,
      instead: "give texts, numbers, booleans, arrays and plain objects.",
    });
  const ignored = Object.keys(conf).filter(
    (key) => key.startsWith("topology.") && !KEYS_OF_COMPONENTS.has(key),
  );
  if (ignored.length > 0)
    say("differs", "shell-key", {
      text: `\`conf\` has keys that Storm takes for the whole topology only: ${ignored.join(", ")}. The program gets the topology's.`,
      instead: "give them in `conf` of the export, or use names of your own.",
    });
  if ("PATH" in env)
    say("differs", "shell-path", {
      text: "Storm appends PATH to the one of its worker, so that programs there come first.",
      instead: "name the program by its whole path.",
    });
  return found;
}

/** Settings without a key of Storm, and what Storm does. */
const OF_STORM = {
  startTimeoutMs: "waits for the answer to the handshake without a limit",
  graceMs: "sends SIGTERM, and no SIGKILL after it",
  maxMessage: "reads messages of any size",
  heartbeatMs: "asks for a heartbeat once a second",
  maxHeld:
    "gives a program every tuple, and has 100 wait at most until they are written (topology.shellbolt.max.pending)",
} as const;

function limits({ name, config, kind }: ComponentPlan, form: ShellForm): readonly StormFinding[] {
  const found: StormFinding[] = [];
  const set = (Object.keys(OF_STORM) as (keyof typeof OF_STORM)[]).filter(
    (key) => form[key] !== SHELL_DEFAULTS[key],
  );
  if (set.length > 0)
    found.push(
      about("differs", "shell-limits", name, {
        text: `Storm has no form for ${set.join(", ")}: it ${set.map((key) => OF_STORM[key]).join(", and ")}.`,
        instead: "keep within such limits in the program itself.",
      }),
    );
  const { tickMs } = config;
  if (kind === "bolt" && tickMs !== undefined && tickMs % 1_000 !== 0)
    found.push(
      about("differs", "shell-tick", name, {
        text: `Storm ticks once in ${Math.ceil(tickMs / 1_000)} s in place of ${tickMs} ms: it counts whole seconds.`,
        instead: "give `tickMs` in whole seconds.",
      }),
    );
  return found;
}

function timeout({ name }: ComponentPlan, { timeoutMs }: ShellForm, ofAll: number): readonly StormFinding[] {
  if (timeoutMs === ofAll * 1_000) return [];
  return [
    about("differs", "shell-timeout", name, {
      text: `Storm has one limit for the answers of all programs, in whole seconds: ${ofAll} s in place of ${timeoutMs} ms.`,
      instead: "give all shell components the same `timeoutMs`, or the export a `subprocessTimeoutMs`.",
    }),
  ];
}

function supervision(
  { name, kind, config }: ComponentPlan,
  topology: { readonly messageTimeoutMs: number },
): readonly StormFinding[] {
  const found: StormFinding[] = [];
  const { retries, intensity, periodMs, restartBackoff } = config;
  if (kind === "spout" && retries > 0)
    found.push(
      about("differs", "shell-retries", name, {
        text: "Storm tells its program of a failed tuple at once, and retries nothing.",
        instead: "let the program emit a failed tuple again, and give `retries: 0` to have the same here.",
      }),
    );
  const usual =
    intensity === TOPOLOGY_DEFAULTS.intensity &&
    periodMs === TOPOLOGY_DEFAULTS.periodMs &&
    restartBackoff === TOPOLOGY_DEFAULTS.restartBackoff;
  if (!usual)
    found.push(
      about("differs", "shell-restarts", name, {
        text: "Storm has no form for intensity, periodMs and restartBackoff of a program: its worker ends with it, and starts again always.",
        instead: `expect each tuple of that worker again, after ${topology.messageTimeoutMs} ms.`,
      }),
    );
  return found;
}

function deadLetters(
  { name, kind }: ComponentPlan,
  subscriptions: readonly { readonly from: string; readonly stream: string }[],
): readonly StormFinding[] {
  if (kind !== "spout" || !subscriptions.some(({ from, stream }) => from === name && stream === "dead"))
    return [];
  const said = {
    text: "its dead letters are ours. Under Storm the program gets `fail`, and nothing comes on this stream.",
    instead: "let the program emit what failed for good on a stream of its own.",
  };
  return [about("differs", "shell-dead", name, said, `${name}.dead`)];
}
