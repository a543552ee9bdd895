// The sessions of a system with other nodes as metrics. Their labels are words of the library alone: nodes have ids that never come again,
// and names that others give them. `signalbox nodes` shows each node.

import type { Kernel } from "../../process/kernel.js";
import type { SessionView } from "../../process/session-view.js";
import type { Instrument, Instruments } from "./instruments.js";
import type { TakeGauge } from "./sources.js";

function gauge(name: string, unit: string, help: string, ...labels: readonly string[]): Instrument {
  return { name: `signalbox.node.${name}`, kind: "gauge", unit, help, labels };
}

function counter(name: string, unit: string, help: string, ...labels: readonly string[]): Instrument {
  return { name: `signalbox.node.${name}`, kind: "counter", unit, help, labels };
}

/** In the order of the page. */
export const NODE_METRICS: Instruments<
  "sessions" | "ends" | "deadLetters" | "roundTrip" | "credit" | "queued" | "queuedBytes"
> = {
  sessions: gauge(
    "sessions",
    "{session}",
    "Sessions with other nodes, by state: up, suspect, hello, absent, refused, left.",
    "state",
  ),
  ends: counter(
    "session.ends",
    "{session}",
    "Sessions that have ended, by the reason and by the node that ended them: here, there. Gaps are one reason.",
    "reason",
    "by",
  ),
  deadLetters: counter(
    "dead_letters",
    "{message}",
    "Messages to other nodes that are dead letters: without a session, or not fit to be sent.",
    "reason",
  ),
  roundTrip: gauge("round_trip", "s", "The slowest session: the median of its last round trips."),
  credit: gauge(
    "credit",
    "{frame}",
    "The session with the least credit: frames that may go before the other node acknowledges more.",
  ),
  queued: gauge("queued", "{signal}", "Signals that wait to be sent to other nodes."),
  queuedBytes: gauge("queued.size", "By", "The bytes of memory that they take, about."),
};

const STATES: readonly SessionView["state"][] = ["up", "suspect", "hello", "absent", "refused", "left"];
const SECOND = 1_000;

/** Takes what the sessions of a system say. Nothing for a system without a transport. */
export function readNodes({ remote }: Kernel, take: TakeGauge): void {
  const sessions = remote.sessions();
  if (sessions === undefined) return;
  for (const state of STATES)
    take(NODE_METRICS.sessions, sessions.filter((one) => one.state === state).length, state);
  const sum = (of: (one: SessionView) => number): number => sessions.reduce((all, one) => all + of(one), 0);
  take(
    NODE_METRICS.queued,
    sum(({ queued }) => queued.signals),
  );
  take(
    NODE_METRICS.queuedBytes,
    sum(({ queued }) => queued.bytes),
  );
  const up = sessions.filter(({ epoch }) => epoch !== undefined);
  if (up.length > 0) take(NODE_METRICS.credit, Math.min(...up.map(({ credit }) => credit.frames)));
  const trips = up.flatMap(({ roundTripMs }) => (roundTripMs === undefined ? [] : [roundTripMs]));
  if (trips.length > 0) take(NODE_METRICS.roundTrip, Math.max(...trips) / SECOND);
}
