// The kinds of incidents, in words.

import type { IncidentKind } from "../../../admin/history/operations.js";
import type { Tone } from "./tone.js";

/** What a kind is called, and how bad it is. */
const KINDS: { readonly [Kind in IncidentKind]: readonly [word: string, tone: Tone] } = {
  crash: ["Crash", "bad"],
  restart: ["Restart", "warn"],
  gaveUp: ["Gave up", "bad"],
  deadLetter: ["Dead letter", "warn"],
  discardedReply: ["Late reply", "quiet"],
  highWater: ["Deep mailbox", "warn"],
  longTurn: ["Late turn", "warn"],
  lateError: ["Late error", "warn"],
  reroute: ["Re-route", "info"],
  undeliverable: ["Undeliverable", "bad"],
  deadTuple: ["Dead tuple", "bad"],
  topologyRestart: ["Topology restart", "bad"],
  breaker: ["Breaker", "warn"],
  hospital: ["Quarantine", "bad"],
  stranded: ["Stranded", "bad"],
  storeOutage: ["Store outage", "bad"],
  nodeUp: ["Node up", "good"],
  nodeDown: ["Node down", "bad"],
  nodeRefused: ["Node refused", "bad"],
  application: ["Application", "info"],
  action: ["Action", "info"],
};

/** What a kind is called. A later version of the service may have kinds that this page does not know. */
export const ofKind = (kind: string): string =>
  Object.hasOwn(KINDS, kind) ? KINDS[kind as IncidentKind][0] : kind;

export const toneOf = (kind: string): Tone =>
  Object.hasOwn(KINDS, kind) ? KINDS[kind as IncidentKind][1] : "quiet";

/** All kinds, for a choice. */
export const kindChoices = (): readonly (readonly [kind: string, word: string])[] =>
  Object.entries(KINDS).map(([kind, [word]]) => [kind, word]);

/** What the first page counts. */
export interface Trouble {
  readonly title: string;
  readonly kinds: readonly IncidentKind[];
}

export const TROUBLES: readonly Trouble[] = [
  { title: "Crashes", kinds: ["crash"] },
  { title: "Restarts", kinds: ["restart"] },
  { title: "Dead letters", kinds: ["deadLetter"] },
  { title: "Late turns", kinds: ["longTurn"] },
  { title: "Re-routes", kinds: ["reroute"] },
  { title: "Stranded", kinds: ["stranded"] },
  { title: "Quarantined", kinds: ["hospital"] },
];
