/** How good or bad something is. The style sheet has a colour for each. */
export type Tone = "good" | "warn" | "bad" | "info" | "quiet";
