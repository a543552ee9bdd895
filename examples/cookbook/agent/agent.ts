// An agent that calls tools and survives restarts: a durable flow, in which each call of the model and each call of a tool is a step.

import {
  defineFlow,
  FlowCancelledError,
  type FlowContext,
  type FlowDefinition,
  type StepOptions,
} from "signalbox/flow";

/** A tool that the model asks for. The id is the model's. */
export interface ToolCall {
  readonly id: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export type Message =
  | { readonly role: "user"; readonly text: string }
  | ({ readonly role: "assistant" } & Turn)
  | { readonly role: "tool"; readonly id: string; readonly text: string };

/** What a model says: a text, and the calls it wants. Without calls the text is its answer. */
export interface Turn {
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

/** Any model: put the client of your provider behind this function. */
export type Model = (messages: readonly Message[], signal: AbortSignal) => Promise<Turn>;

export interface Tool {
  /** Whether a person decides on each call. */
  readonly needsApproval?: boolean;
  /** `key` is the same in each attempt of one call, also after a crash: pass it on to what the tool changes. */
  readonly run: (
    input: ToolCall["input"],
    call: { readonly key: string; readonly signal: AbortSignal },
  ) => Promise<string>;
}

export interface AgentOptions {
  readonly model: Model;
  readonly tools: Readonly<Record<string, Tool>>;
  /** Most calls of the model and of tools together. Default 20. */
  readonly maxCalls?: number;
}

/** What a person says, to the topic `approve ID`. */
export interface Approval {
  readonly by: string;
  readonly ok: boolean;
}

/** What the agent does now, and what was said: the answer of `run.query("agent")`. */
export interface AgentState {
  readonly doing: string;
  readonly messages: readonly Message[];
}

/** How a task ends. Without an answer the budget was used up. */
export interface AgentEnd {
  readonly answer: string | undefined;
  readonly calls: number;
}

/** Providers are slow, refuse for a while, and hang. */
const MODEL: StepOptions = {
  retry: { attempts: 6, backoff: { minMs: 1_000, maxMs: 60_000 } },
  timeout: "2 minutes",
};
const TOOL: StepOptions = { retry: { attempts: 3, backoff: { minMs: 500, maxMs: 10_000 } }, timeout: "30 s" };

export function agentFlow({ model, tools, maxCalls = 20 }: AgentOptions): FlowDefinition<string, AgentEnd> {
  return defineFlow("agent", { onError: "hospital" }, async (flow, task: string): Promise<AgentEnd> => {
    const messages: Message[] = [{ role: "user", text: task }];
    let doing = "";
    const now = (what: string): void => {
      doing = what;
      flow.progress(what);
    };
    flow.query("agent", (): AgentState => ({ doing, messages }));

    let calls = 0;
    while (calls < maxCalls) {
      calls += 1;
      now("thinks");
      const turn = await flow.step("model", ({ signal }) => model(messages, signal), MODEL);
      messages.push({ role: "assistant", ...turn });
      if (turn.calls.length === 0) return { answer: turn.text, calls };
      for (const call of turn.calls) {
        if (calls >= maxCalls) break;
        calls += 1;
        messages.push({ role: "tool", id: call.id, text: await use(flow, tools, call, now) });
      }
    }
    return { answer: undefined, calls };
  });
}

/** Resolves with the text that the model gets for a call: the result, or the error. The model decides what to do about an error. */
async function use(
  flow: FlowContext,
  tools: AgentOptions["tools"],
  call: ToolCall,
  now: (what: string) => void,
): Promise<string> {
  const tool = Object.hasOwn(tools, call.tool) ? tools[call.tool] : undefined;
  if (tool === undefined) return `error: there is no tool "${call.tool}"`;
  if (tool.needsApproval) {
    now(`waits for approval of ${call.tool}`);
    const approval = await flow.receive<Approval>(`approve ${call.id}`, { timeout: "1 day" });
    if (approval === undefined) return "error: nobody decided in time";
    if (!approval.ok) return `error: ${approval.by} said no`;
  }
  now(`calls ${call.tool}`);
  try {
    return await flow.step(
      call.tool,
      ({ idempotencyKey, signal }) => tool.run(call.input, { key: idempotencyKey, signal }),
      TOOL,
    );
  } catch (error) {
    if (error instanceof FlowCancelledError) throw error;
    return `error: ${error instanceof Error ? error.message : String(error)}`;
  }
}
