// A finding as data.

/**
 * One thing that Storm does not do, or does in another way.
 *
 * | code | effect | about |
 * |---|---|---|
 * | `custom-grouping` | blocks | a grouping that is a function |
 * | `direct-beside-others` | blocks | a stream that is read direct by one bolt and otherwise by another |
 * | `placed-bolt` | blocks | a bolt in threads or on nodes, by the option `on` |
 * | `shared-iterable` | blocks | `spoutFrom` with several tasks |
 * | `shell-conf` | blocks | `conf` of a shell component that is no JSON |
 * | `shell-cwd` | blocks | `cwd` of a shell component |
 * | `shell-metrics` | blocks | `onMetrics` of a shell component |
 * | `acker-capacity` | differs | `ackerCapacity` |
 * | `ackers` | differs | `ackers` |
 * | `batch` | differs | a bolt of `batchBolt` |
 * | `check-values` | differs | `checkValues` of a shell component |
 * | `debug` | differs | `debug` |
 * | `direct-emit` | differs | a subscription with the grouping `direct()` |
 * | `drain` | differs | `drainMs` |
 * | `event-window` | differs | a bolt of `windowBolt` with `by` |
 * | `flush` | differs | the function `flush` of a bolt |
 * | `iterable-again` | differs | `spoutFrom`, whose source is read again |
 * | `json-values` | differs | fields of `field.of` |
 * | `message-timeout` | differs | `messageTimeoutMs` that is no whole number of seconds |
 * | `mixed-anchoring` | differs | a stream with an anchored subscription and an unanchored one |
 * | `name` | differs | a name of the topology with other letters than those of ASCII |
 * | `receive-buffer` | differs | `receiveBuffer` |
 * | `restarts` | differs | `restarts` |
 * | `restarts-backoff` | differs | `restartsBackoff` |
 * | `sample-rate` | differs | `sampleRate` of 0, or of one component |
 * | `shell-dead` | differs | a subscription to the dead letters of a shell spout |
 * | `shell-key` | differs | `conf` of a shell component with a key of the whole topology |
 * | `shell-limits` | differs | limits of a shell component, and `heartbeatMs` |
 * | `shell-path` | differs | `PATH` in `env` of a shell component |
 * | `shell-restarts` | differs | `intensity`, `periodMs`, `restartBackoff` of a shell component |
 * | `shell-retries` | differs | `retries` of a shell spout |
 * | `shell-tick` | differs | `tickMs` of a shell bolt that is no whole number of seconds |
 * | `shell-timeout` | differs | `timeoutMs` of a shell component that is not that of all of them |
 * | `spout-wait` | differs | `spoutWaitMs` |
 * | `unread-stream` | differs | a stream that no bolt reads |
 * | `window` | differs | a bolt of `windowBolt` by count, or by the clock |
 */
export interface StormFinding {
  /** `blocks`: no export is possible. `differs`: the topology is exported, and behaves differently there. */
  readonly effect: "blocks" | "differs";
  /** Names the kind of finding, as in the table above. It never changes; texts may. */
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
