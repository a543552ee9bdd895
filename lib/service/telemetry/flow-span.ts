// The span of one attempt of a durable flow's step.

import type { FlowStepOutcome, StepTap, TappedStep } from "../../flow/runtime/taps.js";
import type { Process } from "../../process/process.js";
import { CHANNELS } from "./channels.js";
import type { FlowStepBegin } from "./events.js";
import type { Recorder } from "./recorder.js";

export class StepSpan implements StepTap {
  private readonly recorder: Recorder;
  private readonly begin: FlowStepBegin;
  private readonly by: Process;

  /** @internal */
  constructor(recorder: Recorder, begin: FlowStepBegin, by: Process) {
    this.recorder = recorder;
    this.begin = begin;
    this.by = by;
    recorder.work.begun(by, this);
  }

  around<R>(run: () => R): R {
    const { tracing } = this.recorder;
    return tracing === undefined ? run() : tracing.around(this.begin.span, run);
  }

  ended(outcome: FlowStepOutcome): void {
    const { recorder, begin, by } = this;
    if (!recorder.work.ended(by, this)) return;
    const at = recorder.now();
    const durationMs = at - begin.at;
    recorder.meters?.flowStep(begin.flow, begin.kind, outcome, durationMs);
    const channel = CHANNELS["flow:step"];
    if (channel.hasSubscribers) recorder.publish(channel, { ...begin, at, outcome, durationMs });
  }
}

/** An attempt of a step begins, in the trace that is kept with its flow. */
export function stepBegun(recorder: Recorder, step: TappedStep, trace: string | null, by: Process): StepSpan {
  const begin: FlowStepBegin = { ...recorder.common(), span: recorder.nextSpan(), ...step };
  const channel = CHANNELS["flow:step:begin"];
  if (channel.hasSubscribers) {
    const publish = (): void => recorder.publish(channel, begin);
    // Where messages carry contexts, the code of the flow runs in that of its trace, or in a span of its own below it.
    if (recorder.kernel.carriesContext) publish();
    else recorder.continuing(trace, publish);
  }
  return new StepSpan(recorder, begin, by);
}
