// The messages of a flow host: requests and notices, and what follows when the host ends before it has answered.

import type { CallRules } from "../../host/index.js";
import type { HostSignals } from "../../host/signals.js";
import type { ReplyTo } from "../../process/request.js";
import type { PatientFilter } from "../hospital/hospital-machine.js";
import type { Symptom } from "../hospital/symptom.js";
import type { FlowRow } from "../journal/tables.js";
import type { ScheduleAsk } from "../schedules/schedules.js";
import { FlowOutcomeUnknownError } from "./errors.js";
import type { EventPage } from "./event-page.js";
import type { NewFlow } from "./port.js";

/** A request to a host. */
export type HostRequest =
  | { readonly type: "schedules"; readonly ask: ScheduleAsk; readonly replyTo: ReplyTo<unknown> }
  | { readonly type: "start"; readonly flow: NewFlow; readonly replyTo: ReplyTo<Started> }
  | {
      readonly type: "start many";
      readonly flows: readonly NewFlow[];
      /** No page follows. */
      readonly isLast: boolean;
      readonly replyTo: ReplyTo<readonly Started[]>;
    }
  | { readonly type: "signals"; readonly replyTo: ReplyTo<HostSignals> }
  | { readonly type: "result"; readonly id: string; readonly replyTo: ReplyTo<FlowEnd> }
  | { readonly type: "find"; readonly id: string; readonly replyTo: ReplyTo<FlowRow | undefined> }
  | {
      readonly type: "send";
      readonly id: string;
      readonly topic: string;
      readonly value: unknown;
      readonly messageId: string;
      readonly replyTo: ReplyTo<undefined>;
    }
  | {
      readonly type: "control";
      readonly id: string;
      readonly action: "cancel" | "kill" | "pause" | "resume";
      readonly replyTo: ReplyTo<undefined>;
    }
  | {
      readonly type: "events";
      readonly id: string;
      readonly after: number;
      readonly waitMs: number | undefined;
      readonly replyTo: ReplyTo<EventPage>;
    }
  | { readonly type: "hospital"; readonly ask: HospitalAsk; readonly replyTo: ReplyTo<unknown> }
  | {
      readonly type: "query";
      readonly id: string;
      readonly name: string;
      readonly argument: unknown;
      readonly replyTo: ReplyTo<unknown>;
    };

/** The requests to a host about its hospital. */
export type HospitalAsk =
  | { readonly type: "patients"; readonly filter: PatientFilter; readonly limit: number }
  | { readonly type: "discharge"; readonly filter: PatientFilter }
  | { readonly type: "observe"; readonly id: string; readonly reason: string }
  | { readonly type: "unknown" };

/** How a flow ended, or why it stands still. */
export type FlowEnd =
  | Pick<FlowRow, "status" | "outcome">
  | { readonly status: "hospitalized"; readonly symptom: Symptom };

/** All messages of a host's process. */
export type HostMessage =
  | HostRequest
  /** A commit named a topic. Undefined: topics may have been missed. */
  | { readonly type: "noted"; readonly topic: string | undefined }
  | { readonly type: "poll" }
  /** Metrics ask for the signals of the host. */
  | { readonly type: "signals wanted" }
  | { readonly type: "lost" };

/** The answer to a start. */
export interface Started {
  readonly id: string;
  /** A flow of this id was there already. */
  readonly attached: boolean;
}

/** The rules of an operation whose repeat finds what the first attempt did: the handle asks the next host, too. */
export const mayRepeat = (operation: string, of: string, what?: "schedule"): CallRules => ({
  repeat: "always",
  unknown: (cause) => new FlowOutcomeUnknownError(operation, of, cause, what),
});

/** The rules of an operation that is not repeated: when the host that began it ends, its outcome is unknown. */
export const once = (operation: string, of: string, what?: "schedule"): CallRules => ({
  ...mayRepeat(operation, of, what),
  repeat: "if untaken",
});
