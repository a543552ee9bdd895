/** How good or bad something is. The style sheet has a colour for each. */
export type Tone = "good" | "warn" | "bad" | "info" | "quiet";

const STATUS: Readonly<Record<string, Tone>> = {
  starting: "info",
  ready: "info",
  running: "good",
  suspended: "warn",
  held: "warn",
  terminating: "bad",
  restarting: "warn",
};

/** The tone of the state of a process or a child. Those that wait are well, and say so in grey. */
export const statusTone = (status: string): Tone =>
  Object.hasOwn(STATUS, status) ? (STATUS[status] as Tone) : "quiet";
