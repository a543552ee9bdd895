// The options of a simulated network, checked.

import type { ErrorClass } from "../../host/payload/error-record.js";
import { checkCodec, type SignalCodecOptions } from "../../node/codec/signal-codec.js";
import { SESSION_DEFAULTS } from "../../node/session/limits.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { delay, flag } from "../../process/options.js";
import { durations, times } from "../simulator/options.js";
import { type ProcessPattern, patternMatcher } from "../simulator/process-pattern.js";

/** How often a fault of a network may strike in one schedule. */
export interface NetworkFaultRule {
  /** Times in one schedule: 1 or more, or Infinity. Default 1. */
  readonly atMost?: number;
}

/** Latencies of some links. */
export interface NetworkLinkOptions {
  /** The system that sends, by name. Default all. */
  readonly from?: ProcessPattern;
  /** The system that receives, by name. Default all. */
  readonly to?: ProcessPattern;
  /** Virtual milliseconds that a signal takes, one of them for each signal. The first is the ordinary one. */
  readonly latencyMs: number | readonly number[];
}

/**
 * Latencies and faults of a network. By default signals arrive at once, and there are no faults. There are none while the
 * simulation is calm.
 */
export interface NetworkOptions {
  /** Virtual milliseconds that a signal takes, one of them for each signal. The first is the ordinary one. Default 0. */
  readonly latencyMs?: number | readonly number[];
  /** Other latencies for some links. The first entry that fits counts. */
  readonly links?: readonly NetworkLinkOptions[];
  /**
   * Whether systems talk by the sessions of production, as over NATS: a lost frame ends all links between two systems, a silent cut is
   * noticed after `limitMs`, and nothing arrives twice. Without sessions the network passes single signals. Default true, unless
   * `duplicate` or `reorder` is given: no session lets these through.
   */
  readonly sessions?: boolean;
  /** Virtual milliseconds of silence, or without an acknowledgement, after which a session ends: 100 or more. Default 2,000. */
  readonly limitMs?: number;
  /**
   * Frames to lose in one schedule. A session ends by that, and its links, monitors and calls get `noconnection`. Without sessions:
   * messages and replies to lose, while links, monitors and exit signals are never dropped.
   */
  readonly drop?: NetworkFaultRule;
  /**
   * Messages to deliver twice. The copy arrives at any later time, also over a later connection of the same systems, after a cut. With
   * `sessions: true` these are frames, and no copy is delivered.
   */
  readonly duplicate?: NetworkFaultRule & {
    /** Virtual milliseconds between the message and its copy, at least. Default 0, 100 and 10,000. */
    readonly afterMs?: readonly number[];
  };
  /**
   * Messages that leave the order of their pair of systems: others overtake them, or they overtake others. With `sessions: true` these
   * are frames, and a session ends by that.
   */
  readonly reorder?: NetworkFaultRule;
  /** Cuts between two systems. A cut ends when the simulation is calm. */
  readonly partition?: NetworkFaultRule & {
    /** Durations of a cut to choose from, in virtual milliseconds. Default 10, 1,000 and 60,000. */
    readonly forMs?: readonly number[];
    /** Whether a cut may be in one direction only. Default false. */
    readonly oneWay?: boolean;
    /** Whether a cut may be silent. Default false. */
    readonly silent?: boolean;
  };
  /** Virtual milliseconds until a side notices the end of a connection, one of them for each side. Default 0. */
  readonly noticeMs?: number | readonly number[];
  /** Classes of errors of yours. Errors of other classes arrive as `Error`, with the name of their class. Default none. */
  readonly errors?: readonly ErrorClass[];
  /** The largest message, call or reply, in bytes as it is sent: 1 or more. A larger one throws where it is sent. Default 16 MiB. */
  readonly maxBytes?: number;
}

/** Options of a cut. */
export interface CutOptions {
  /** Whether only what the first system sends is cut. Default false. */
  readonly oneWay?: boolean;
  /**
   * Whether neither side notices. Messages that are sent meanwhile are held, and arrive after the cut, as over TCP, unless it lasts
   * longer than the limit of sessions: then both sides get `noconnection`, and held messages are lost. Default false: messages in transit
   * are lost, and both sides get `noconnection`, each in a step of its own.
   */
  readonly silent?: boolean;
}

const PARTITION_MS: readonly number[] = [10, 1_000, 60_000];
const DUPLICATE_MS: readonly number[] = [0, 100, 10_000];
/** The least limit that sessions take. */
const LEAST_LIMIT_MS = 100;

/** The latencies of the links that fit. */
export interface Latency {
  readonly from: (name: string) => boolean;
  readonly to: (name: string) => boolean;
  readonly ms: readonly number[];
}

/** The options of a network, each with its value. */
export interface NetworkPlan {
  readonly hasSessions: boolean;
  readonly limitMs: number;
  readonly codec: SignalCodecOptions;
  /** The last one fits all links. */
  readonly latencies: readonly Latency[];
  readonly noticeMs: readonly number[];
  readonly duplicateMs: readonly number[];
  readonly partitionMs: readonly number[];
  /** Kinds of cuts that are faults; the first is the ordinary one. */
  readonly cuts: readonly CutOptions[];
  /** How often each fault may strike. */
  readonly budgets: { drop: number; duplicate: number; reorder: number; partition: number };
}

/** @throws OptionError */
export function planOf(options: NetworkOptions): NetworkPlan {
  only("network", options, [
    ...(["latencyMs", "links", "drop", "duplicate", "reorder", "partition", "noticeMs"] as const),
    ...(["sessions", "limitMs", "errors", "maxBytes"] as const),
  ]);
  const { drop, duplicate, reorder, partition, limitMs = SESSION_DEFAULTS.limitMs } = options;
  if (drop !== undefined) only("network.drop", drop, ["atMost"]);
  if (duplicate !== undefined) only("network.duplicate", duplicate, ["atMost", "afterMs"]);
  if (reorder !== undefined) only("network.reorder", reorder, ["atMost"]);
  if (partition !== undefined) only("network.partition", partition, ["atMost", "forMs", "oneWay", "silent"]);
  const budget = (path: string, rule: NetworkFaultRule | undefined): number =>
    rule === undefined ? 0 : times(path, rule);
  const oneWay = flag("network.partition.oneWay", partition?.oneWay ?? false);
  const silent = flag("network.partition.silent", partition?.silent ?? false);
  if (delay("network.limitMs", limitMs) < LEAST_LIMIT_MS)
    throw new OptionError("network.limitMs", limitMs, `${LEAST_LIMIT_MS} milliseconds or more`);
  return {
    hasSessions: flag("network.sessions", options.sessions ?? (duplicate ?? reorder) === undefined),
    limitMs,
    codec: checkCodec("network", { errors: options.errors, maxBytes: options.maxBytes }),
    latencies: [
      ...linksOf(options.links),
      { from: () => true, to: () => true, ms: oneOrMore("network.latencyMs", options.latencyMs ?? 0) },
    ],
    noticeMs: oneOrMore("network.noticeMs", options.noticeMs ?? 0),
    duplicateMs: durations("network.duplicate.afterMs", duplicate?.afterMs ?? DUPLICATE_MS),
    partitionMs: durations("network.partition.forMs", partition?.forMs ?? PARTITION_MS),
    cuts: [{}, { oneWay: true }, { silent: true }, { oneWay: true, silent: true }].filter(
      (cut: CutOptions) => (oneWay || cut.oneWay !== true) && (silent || cut.silent !== true),
    ),
    budgets: {
      drop: budget("network.drop", drop),
      duplicate: budget("network.duplicate", duplicate),
      reorder: budget("network.reorder", reorder),
      partition: budget("network.partition", partition),
    },
  };
}

function oneOrMore(path: string, given: number | readonly number[]): readonly number[] {
  return typeof given === "number" ? [delay(path, given)] : durations(path, given);
}

function linksOf(given: readonly NetworkLinkOptions[] = []): readonly Latency[] {
  if (!Array.isArray(given)) throw new OptionError("network.links", given, "a list of links");
  return given.map((link: NetworkLinkOptions, index) => {
    const path = `network.links[${index}]`;
    only(path, link, ["from", "to", "latencyMs"]);
    return {
      from: patternMatcher(`${path}.from`, link.from ?? "*"),
      to: patternMatcher(`${path}.to`, link.to ?? "*"),
      ms: oneOrMore(`${path}.latencyMs`, link.latencyMs),
    };
  });
}
