// What a history makes of each event of its system: its kind, what is the same again, where it came from, and, for the first of many, its text.

import type { SystemEventMap } from "../../process/events.js";
import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import { cut } from "../../process/show.js";
import type { Detail } from "./history-machine.js";
import type { Incident, IncidentKind } from "./operations.js";
import { addressText, errorKey, errorView, pidText, reasonText, shown, whose } from "./texts.js";

/** Something that has happened. The fields are those of the event `happened` of the machine, but for: */
export interface Occurrence {
  readonly kind: IncidentKind;
  readonly key: string;
  readonly as?: readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly uses?: string | undefined;
  /** The incident of a crash with this reason is its cause. */
  readonly reason?: ExitReason | undefined;
  /** Asked once, for the first of many. */
  detail(): Detail;
}

/** The name of what ended at a process. */
export const pidCause = ({ node, id }: Pid<never>): string => `p ${node.id} ${id}`;
/** The name of what ended at the place of a child: the supervisor restarts it because of that. */
export const placeCause = (supervisor: Pid<never>, id: string): string =>
  `c ${supervisor.id} ${cut(id, LONGEST_ID)}`;

/** Most characters of the id of a child that tell it from others. */
const LONGEST_ID = 200;

/** Most siblings of a restart, and most suspects of a long turn. */
const LISTED = 20;

type Of<Name extends keyof SystemEventMap> = SystemEventMap[Name][0];

type Reader<Name extends keyof SystemEventMap> = (event: Of<Name>) => Occurrence;

/** By the names of the events. */
export const OCCURRENCES: { readonly [Name in keyof SystemEventMap]?: Reader<Name> } = {
  restart: (event) => (event.gaveUp ? gaveUp(event) : restarted(event)),
  highWater: ({ pid, depth }) => ({
    kind: "highWater",
    key: String(pid.id),
    detail: () => ({ ...whose(pid), text: `${depth} messages wait at ${addressText(pid)}` }),
  }),
  longTurn: ({ suspects, elapsedMs }) => ({
    kind: "longTurn",
    key: suspects
      .slice(0, LISTED)
      .map(({ id }) => id)
      .join(),
    detail: () => {
      const [first] = suspects;
      const who = suspects.slice(0, LISTED).map(addressText).join(" or ");
      const text = shown(`a turn took ${Math.round(elapsedMs)} ms${who === "" ? "" : `: ${who}`}`);
      return first === undefined ? { text } : { ...whose(first), text };
    },
  }),
  lateError: ({ pid, error }) => ({
    kind: "lateError",
    key: `${pid.label ?? pid.id} ${errorKey(error)}`,
    from: pidCause(pid),
    detail: () => {
      const view = errorView(error);
      const what = view === undefined ? "a value that is not an Error" : `${view.name}: ${view.message}`;
      return { ...whose(pid), text: shown(`${addressText(pid)} threw after its exit: ${what}`), error: view };
    },
  }),
  reroute: (event) => ({
    kind: "reroute",
    key: `${event.group} ${event.from} ${event.to}`,
    from: pidCause(event.fromPid),
    reason: event.reason,
    detail: () => {
      const group = shown(event.group, "name");
      const from = shown(event.from, "name");
      const to = shown(event.to, "name");
      const { attempt, elapsedMs: tookMs, toPid } = event;
      const envelope = shown(String(event.envelope.id), "name");
      const text = shown(`an envelope of ${group} went on from ${from} to ${to}`);
      const reroute = { group, envelope, from, to, attempt, tookMs };
      return { ...whose(toPid), text, reason: reasonText(event.reason), reroute };
    },
  }),
  undeliverable: ({ group, error, history }) => ({
    kind: "undeliverable",
    key: `${group} ${error.name}`,
    reason: history.at(-1)?.reason,
    detail: () => ({ label: shown(group, "name"), text: shown(error.message) }),
  }),
  deadTuple: ({ topology, component, stream, attempts }) => ({
    kind: "deadTuple",
    key: `${topology} ${component} ${stream}`,
    detail: () => ({
      label: shown(topology, "name"),
      text: shown(`a tuple of ${component} on ${stream} failed for good, after ${attempts} attempts`),
    }),
  }),
  topologyRestart: ({ topology, reason, delayMs }) => ({
    kind: "topologyRestart",
    key: topology,
    reason,
    detail: () => {
      const error = reason.type === "crash" ? errorView(reason.error) : undefined;
      const text = shown(`${topology} starts again as a whole in ${Math.round(delayMs)} ms`);
      return { label: shown(topology, "name"), text, reason: reasonText(reason), error };
    },
  }),
  breaker: ({ breaker, pid, from, to, calls, failed, slow }) => ({
    kind: "breaker",
    key: `${breaker} ${to}`,
    detail: () => {
      const name = shown(breaker, "name");
      const slowly = slow === 0 ? "" : `, ${slow} slow`;
      const text = shown(`${name} is ${to}, was ${from}: of ${calls} calls ${failed} failed${slowly}`);
      return { ...(pid !== undefined && whose(pid)), label: name, breaker: name, text };
    },
  }),
  hospital: (event) => ({
    kind: "hospital",
    key: `${event.type} ${"flow" in event ? event.flow : ""}`,
    detail: () => hospitalised(event),
  }),
  executionStranded: ({ host, execution, pipeline }) => ({
    kind: "stranded",
    key: execution,
    detail: () => ({
      ...whose(host),
      text: shown(`execution ${execution} of ${pipeline} cannot end: its pipeline was changed`),
    }),
  }),
  storeOutage: (event) => ({
    kind: "storeOutage",
    key: `${event.host.id} ${event.type}`,
    detail: () => {
      if (event.type === "began")
        return { ...whose(event.host), text: "the store fails", error: errorView(event.error) };
      const text = `the store works again, after ${event.failures} failed attempts in ${Math.round(event.tookMs)} ms`;
      return { ...whose(event.host), text };
    },
  }),
  nodeUp: ({ node }) => ({
    kind: "nodeUp",
    key: node.id,
    detail: () => ({ node: shown(node.name, "name"), text: shown(`${node.name} is connected`) }),
  }),
  nodeDown: ({ node, reason, by, lost }) => ({
    kind: "nodeDown",
    key: `${node.id} ${reason}`,
    detail: () => ({
      node: shown(node.name, "name"),
      text: shown(
        `the session with ${node.name} has ended ${by}: ${reason}, ${lost} signals not acknowledged`,
      ),
      reason,
    }),
  }),
  nodeRefused: ({ node }) => ({
    kind: "nodeRefused",
    key: node.id,
    detail: () => ({
      node: shown(node.name, "name"),
      text: shown(`${node.name} has no version of the protocol in common with this node`),
    }),
  }),
  observerAction: ({ op, args: { id }, outcome, tookMs }) => ({
    kind: "action",
    key: `${op} ${typeof id === "string" ? id : ""} ${outcome}`,
    detail: () => {
      const on = typeof id === "string" ? ` of ${id}` : "";
      const text = shown(`an observer asked for ${op}${on}: ${outcome} in ${Math.round(tookMs)} ms`);
      return { label: shown(op, "name"), text };
    },
  }),
  application: ({ name, phase, cause }) => ({
    kind: "application",
    key: `${name} ${phase}`,
    detail: () => ({
      label: shown(name, "name"),
      text: shown(`${name} is ${phase}${cause === undefined ? "" : `: ${cause.type}`}`),
    }),
  }),
};

/** A limit that JSON can hold: null is none. */
const limit = (value: number): number | null => (Number.isFinite(value) ? value : null);

function restarted(event: Of<"restart">): Occurrence {
  const { supervisor, id, reason, intensityLeft } = event;
  return {
    kind: "restart",
    // Restarts that a limit counts stand by themselves.
    key: `${supervisor.id} ${id} ${intensityLeft}`,
    uses: placeCause(supervisor, id),
    reason,
    detail: () => {
      const among = event.siblings.length === 0 ? "" : ` with ${event.siblings.length} more`;
      const text = shown(`${addressText(supervisor)} restarts ${id}${among}: ${reasonText(reason)}`);
      return { ...childOf(event), text };
    },
  };
}

function gaveUp(event: Of<"restart">): Occurrence {
  const { supervisor, id, reason, intensity, periodMs } = event;
  const parent = supervisor.process?.parent;
  const { label } = supervisor;
  return {
    kind: "gaveUp",
    key: `${supervisor.id} ${id}`,
    uses: placeCause(supervisor, id),
    reason,
    // The supervisor ends now, and the one above restarts it.
    as: parent === undefined || label === undefined ? undefined : [placeCause(parent, label)],
    detail: () => {
      const more = `more than ${intensity} restarts within ${periodMs} ms`;
      const text = shown(
        `${addressText(supervisor)} gives up: ${more}, the last of ${id}: ${reasonText(reason)}`,
      );
      return { ...childOf(event), text };
    },
  };
}

/** Of a restart: it is about the child, at the place of the child. */
function childOf(event: Of<"restart">): Omit<Detail, "text"> {
  const { supervisor, strategy, siblings, intensity, intensityLeft, periodMs, delayMs } = event;
  const id = shown(event.id, "name");
  const { path, label } = whose(supervisor);
  return {
    pid: pidText(supervisor),
    label: id,
    path: shown(`${path}/${id}`, "path"),
    reason: reasonText(event.reason),
    restart: {
      supervisor: pidText(supervisor),
      ...(label !== undefined && { supervisorLabel: label }),
      id,
      strategy,
      siblings: siblings.slice(0, LISTED).map((one) => shown(one, "name")),
      intensity: limit(intensity),
      intensityLeft: limit(intensityLeft),
      periodMs: limit(periodMs),
      delayMs: Math.round(delayMs),
    },
  };
}

function hospitalised(event: Of<"hospital">): Detail {
  const where = whose(event.host);
  if (event.type === "unknown") {
    const names = event.flows.slice(0, LISTED).map(({ name, version }) => `${name} version ${version}`);
    return { ...where, text: shown(`the host has no definition of ${names.join(", ")}`) };
  }
  const flow: Pick<Incident, "flow"> = { flow: shown(event.flow, "name") };
  if (event.type === "staff-failed")
    return { ...where, ...flow, text: shown(`${event.staff} gave no diagnosis: ${event.message}`) };
  const { symptom, suspension } = event.record;
  const text = shown(
    `flow ${event.flow} ${TREATED[event.type]}: ${symptom.kind} at ${suspension.name}: ${symptom.name}: ${symptom.message}`,
  );
  return { ...where, ...flow, text };
}

const TREATED = {
  discharged: "runs again",
  waits: "runs again later",
  observed: "is kept until a person acts",
  failed: "has failed for good",
} as const;
