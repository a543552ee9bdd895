// What a program asks before it is killed, and what the next one has to find.

/** The flow, and the execution. */
export const FLOW = "flow";
export const RUN = "run";

export const FOUND = {
  "flow cancel": { flow: "cancelled" },
  "flow kill": { flow: "killed" },
  "flow send": { flow: "completed" },
  "execution cancel": { execution: "cancelled" },
  "execution pause": { execution: "paused" },
} as const;

export type Answered = keyof typeof FOUND;

export const OPERATIONS = Object.keys(FOUND) as Answered[];
