// The history of a few processes as plain data, in order: what each did, with which reason each ended, and which signals
// each got. The model reads only this history, so that tests can write wrong histories by hand.

/** Processes are numbered in the order of their spawning, monitors in that of their making; reasons are texts. */
export type Deed =
  | { readonly deed: "spawn"; readonly who: number; readonly traps: boolean }
  | { readonly deed: "trap"; readonly who: number; readonly on: boolean }
  | { readonly deed: "link"; readonly who: number; readonly to: number }
  | { readonly deed: "unlink"; readonly who: number; readonly from: number; readonly flush: boolean }
  | { readonly deed: "monitor"; readonly who: number; readonly of: number; readonly ref: number }
  | { readonly deed: "demonitor"; readonly who: number; readonly ref: number; readonly flush: boolean }
  /** An ordinary message, numbered. */
  | { readonly deed: "send"; readonly who: number; readonly to: number; readonly note: number }
  /** `exit(to, reason)`. */
  | { readonly deed: "signal"; readonly who: number; readonly to: number; readonly reason: string }
  /** It ends by its own will. */
  | { readonly deed: "stop"; readonly who: number; readonly reason: string }
  /** The process has ended, as the system says. */
  | { readonly deed: "end"; readonly who: number; readonly reason: string }
  | { readonly deed: "heard"; readonly who: number; readonly signal: Heard }
  /** A step of the schedule is over. */
  | { readonly deed: "line" };

/** A signal or note that a process gets. */
export type Heard =
  | { readonly kind: "exit"; readonly from: number; readonly reason: string }
  | { readonly kind: "down"; readonly from: number; readonly reason: string; readonly ref: number }
  | { readonly kind: "note"; readonly from: number; readonly note: number };

/** A deed in a few words, for complaints. */
export function told(deed: Deed): string {
  switch (deed.deed) {
    case "spawn":
      return `${deed.who} is spawned${deed.traps ? ", trapping" : ""}`;
    case "trap":
      return `${deed.who} ${deed.on ? "begins" : "ceases"} to trap exits`;
    case "link":
      return `${deed.who} links to ${deed.to}`;
    case "unlink":
      return `${deed.who} unlinks from ${deed.from}${deed.flush ? ", with flush" : ""}`;
    case "monitor":
      return `${deed.who} monitors ${deed.of} (ref ${deed.ref})`;
    case "demonitor":
      return `${deed.who} ends monitor ${deed.ref}${deed.flush ? ", with flush" : ""}`;
    case "send":
      return `${deed.who} sends note ${deed.note} to ${deed.to}`;
    case "signal":
      return `${deed.who} signals ${deed.reason} to ${deed.to}`;
    case "stop":
      return `${deed.who} stops: ${deed.reason}`;
    case "end":
      return `${deed.who} has ended: ${deed.reason}`;
    case "heard":
      return `${deed.who} hears ${heardText(deed.signal)}`;
    case "line":
      return "—";
    default:
      return deed satisfies never;
  }
}

export function heardText(heard: Heard): string {
  switch (heard.kind) {
    case "exit":
      return `EXIT of ${heard.from}: ${heard.reason}`;
    case "down":
      return `DOWN of ${heard.from}: ${heard.reason} (ref ${heard.ref})`;
    case "note":
      return `note ${heard.note} of ${heard.from}`;
    default:
      return heard satisfies never;
  }
}
