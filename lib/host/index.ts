/**
 * What durable hosts share: flow hosts, pipeline hosts and durable queues.
 *
 *     evidence/   the subject to blame when a program dies again and again: evidence-machine.ts decides, evidence.ts is a host's use of it,
 *                 witness.ts knows which subject runs, evidence-place.ts is where it is written,
 *                 standing.ts counts what hosts of a shared store have seen, standing-rows.ts keeps it there
 *     claims/     which host holds what, and which hosts are gone
 *     admin-lodging.ts  the admin socket of a host
 *     host-life.ts  start, services and stop of the process of a host
 *     versions.ts   the definitions that a host can run
 *     signals.ts    what hosts say to an autoscaler
 *     nats-client.ts  the client of NATS, which queues, nodes and leases use
 *     payload/    how values become durable: codecs, limits, errors
 *     background/ work that a failing store only puts off, and the heartbeats of work that takes long
 *     handles/    how a handle outlives its host: call-machine.ts decides, host-calls.ts asks, running-hosts.ts knows which hosts run
 */

export { adminLodging } from "./admin-lodging.js";
export {
  Evidence,
  type EvidenceOptions,
  type Finding,
  NOBODY,
  openEvidence,
  type Subject,
} from "./evidence/evidence.js";
export { EVIDENCE_KINDS, type EvidenceKind, type EvidenceMark } from "./evidence/evidence-machine.js";
export {
  checkEvidence,
  type EvidenceFile,
  type EvidenceFolder,
  type EvidenceOption,
  type EvidencePlace,
  evidencePlaceOf,
} from "./evidence/evidence-place.js";
export { type EvidenceView, evidenceBeside } from "./evidence/evidence-view.js";
export { STANDING_SCHEMA } from "./evidence/standing-rows.js";
export { HostGoneError, isHostOver } from "./handles/errors.js";
export { type CallRules, type HostCaller, HostCalls } from "./handles/host-calls.js";
export { RunningHosts } from "./handles/running-hosts.js";
export { type HostEvidenceOptions, hostEvidence } from "./host-evidence.js";
export type { HostSignals } from "./signals.js";
