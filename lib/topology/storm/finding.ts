// A finding as data.

/** One thing that Storm does not do, or does in another way. */
export interface StormFinding {
  /** `blocks`: no export is possible. `differs`: the topology is exported, and behaves differently there. */
  readonly effect: "blocks" | "differs";
  /** Names the kind of finding. It never changes; texts may. */
  readonly code: string;
  /** The component it is about; undefined when it is about the whole topology. */
  readonly component: string | undefined;
  /** Where it is: a component, a subscription such as `count <- split.words`, or the name of the topology. */
  readonly place: string;
  /** What Storm does or cannot do, in a sentence. */
  readonly text: string;
  /** What to write instead, or how to live with it, in a sentence. */
  readonly instead: string;
}
